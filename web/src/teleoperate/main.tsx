import { createRoot } from "react-dom/client";
import { ErrorBoundary } from "../parts/error_boundary";
import "../styles/tokens.css";
import "../styles/frame.css";
import { Operator } from "./operator";
import { OperatorPage } from "./operator_page";

const { protocol, host, search } = window.location;
const operator = new Operator(
  `${protocol === "https:" ? "wss" : "ws"}://${host}/teleoperate${search}`,
);
const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <ErrorBoundary of="teleoperate">
      <OperatorPage operator={operator} />
    </ErrorBoundary>,
  );

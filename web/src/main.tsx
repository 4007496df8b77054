import "./prefetch_page";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import "./styles/tokens.css";
import "./styles/frame.css";

const root = document.getElementById("root");
if (root) createRoot(root).render(<App />);

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `npm run dev` shows a page that changes as you write, over a Studio that runs already.
declare const process: { env: Record<string, string | undefined> };
const studio = process.env.STUDIO ?? "http://127.0.0.1:8700";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/corporeal/studio/page",
    emptyOutDir: true,
    chunkSizeWarningLimit: 900,
    // Studio, and the page of whoever drives a robot.
    rolldownOptions: { input: ["index.html", "teleoperate.html"] },
  },
  server: { proxy: { "/api": { target: studio, ws: true } } },
});

/** Starts the dashboard in the browser. */
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/shell.css";
import "./styles/pages.css";
import "./styles/policies.css";
import "./styles/overview.css";
import "./styles/trail.css";
import "./styles/lineage.css";
import { render } from "preact";
import { App } from "./app.tsx";
import { startRouter } from "./state/router.ts";
import { loadSession } from "./state/session.ts";
import { startTheme } from "./state/theme.ts";
import { showHidden } from "./ui/text/show-hidden.ts";

startTheme();
showHidden();
startRouter();
void loadSession();
const root = document.getElementById("app");
if (root === null) throw new Error("the page has no place for the dashboard");
render(<App />, root);

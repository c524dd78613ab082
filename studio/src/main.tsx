/** Starts the page. */

import { render } from "preact";
import { App } from "./app";
import "./page.css";

// How tall the page is: for a browser that takes its picture, and knows only windows.
const root = document.documentElement;
const measure = () => (root.dataset.height = String(root.scrollHeight));
new ResizeObserver(measure).observe(document.body);

render(<App />, document.getElementById("page")!);

// The bell: notifications of the browser about what waits, for who has asked for them in this tab. They come while nobody looks at the console, once each however
// many tabs are open, and they go when the question is answered.

import { revealCallText } from "./suspect.js";

const place = "signoff.bell";

class Bell {
  #wanted = sessionStorage.getItem(place) === "on";
  #mine = false; // this tab is the one that rings
  #asked = false;
  #shown = new Map();
  #listeners = new Set();

  constructor() {
    if (this.state === "on") this.#take();
  }

  /** on, off, refused (by the browser's settings), or missing. */
  get state() {
    if (typeof Notification !== "function" || !window.isSecureContext) return "missing";
    if (Notification.permission === "denied") return "refused";
    return this.#wanted && Notification.permission === "granted" ? "on" : "off";
  }

  /** Whether this tab rings, and has to listen while nobody sees it. */
  mine() {
    return this.#mine && this.state === "on";
  }

  onChange(listener, signal) {
    this.#listeners.add(listener);
    signal.addEventListener("abort", () => this.#listeners.delete(listener), { once: true });
  }

  /** Turns it on or off. The browser asks the person, so this must follow a tap. */
  async turn() {
    this.#keep(this.state !== "on" && (await Notification.requestPermission()) === "granted");
    if (this.state === "on") this.#take();
    this.#changed();
  }

  #keep(wanted) {
    this.#wanted = wanted;
    if (wanted) sessionStorage.setItem(place, "on");
    else sessionStorage.removeItem(place);
  }

  /** One tab holds the lock as long as it is open; then the next one has it. */
  #take() {
    if (this.#asked || navigator.locks === undefined) return;
    this.#asked = true;
    navigator.locks.request(place, () => {
      this.#mine = true;
      this.#changed();
      return new Promise(() => {});
    });
  }

  #changed() {
    for (const listener of this.#listeners) listener();
  }

  /** Rings for a new approval, unless somebody looks at this very tab. */
  ring({ id, tool, summary, kind }) {
    if (!this.mine() || (document.visibilityState === "visible" && document.hasFocus())) return;
    const title = kind === "question" ? "An agent has a question" : `Signoff: ${revealCallText(tool).slice(0, 60)}`;
    try {
      const note = new Notification(title, { body: revealCallText(summary).slice(0, 200), tag: id });
      note.onclick = () => this.#open(note);
      this.#shown.set(id, note);
    } catch {
      this.#keep(false); // browsers of phones have notifications, and refuse to show them for a page
      this.#changed();
    }
  }

  #open(note) {
    window.focus();
    location.hash = "#/inbox";
    note.close();
  }

  /** Takes the notification back, now that it is answered. */
  silence(id) {
    this.#shown.get(id)?.close();
    this.#shown.delete(id);
  }
}

/** The one of this tab. */
export const bell = new Bell();

// The pictures and files of a conversation. Their bytes need the token, so they are asked for here and shown from memory; only pictures are
// shown and only audio is played, whatever a file says of itself, and all else is saved.

import { bytesOf, executionPath } from "./api.js";
import { fill, h, say } from "./dom.js";
import { size } from "./format.js";
import { reveal, revealText } from "./reveal.js";

const pictures = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const audio = ["audio/wav", "audio/mpeg", "audio/ogg", "audio/flac", "audio/mp4"];

/** What stands below a text for its files: {element, show(parts), leave()}. The pictures are let go by leave. */
export class FilesView {
  element = h("div", { class: "files", hidden: true });
  #path;
  #shown = "";
  #leaving = new AbortController();
  #addresses = [];

  constructor(execution) {
    this.#path = `${executionPath(execution)}/files/`;
  }

  show(parts) {
    const files = (parts ?? []).filter((part) => part.fileId !== undefined);
    const now = JSON.stringify(files.map(({ fileId }) => fileId));
    if (now === this.#shown) return;
    this.#shown = now;
    this.element.hidden = files.length === 0;
    fill(this.element, files.map((part) => (pictures.includes(part.mediaType) ? this.#picture(part) : this.#document(part))));
  }

  leave() {
    this.#leaving.abort();
    for (const address of this.#addresses) URL.revokeObjectURL(address);
  }

  /** A picture in a frame of a fixed height, so that nothing moves when it comes; a press shows it as large as there is room. */
  #picture(part) {
    const name = part.name || "picture";
    const place = h("button", { type: "button", class: "picture", "aria-expanded": "false", on: { click: () => this.#enlarge(place) } }, h("span",
      { class: "muted small" }, "Loading…"));
    const figure = h("figure", {}, place, h("figcaption", { class: "small muted" }, reveal(name), ` · ${size(part.size)}`));
    void this.#load(part, place, name);
    return figure;
  }

  async #load(part, place, name) {
    try {
      const blob = await bytesOf(this.#path + part.fileId, { signal: this.#leaving.signal });
      const picture = h("img", { src: this.#address(blob), alt: revealText(name), decoding: "async" });
      picture.addEventListener("error", () => say(place, "It cannot be shown as a picture."));
      fill(place, picture);
    } catch (problem) {
      if (!this.#leaving.signal.aborted) fill(place, h("span", { class: "error" }, "It cannot be shown: ", reveal(problem.message)));
    }
  }

  #enlarge(place) {
    const large = place.classList.toggle("large");
    place.setAttribute("aria-expanded", String(large));
  }

  #document(part) {
    const name = part.name || "file";
    const error = h("span", { class: "error", role: "alert" });
    const button = h("button", { type: "button", class: "small", on: { click: () => void this.#save(part, name, error) } }, "Save ", reveal(name));
    const play = audio.includes(part.mediaType) ? this.#player(part, name, error) : null;
    return h("p", { class: "row" }, play, button, h("span", { class: "small muted" }, `${part.mediaType} · ${size(part.size)}`), error);
  }

  /** What plays audio. Nothing is loaded before somebody wants to hear it: a file may have 20 MB. */
  #player(part, name, error) {
    const place = h("span", {});
    const button = h("button", { type: "button", class: "small", on: { click: () => void this.#play(part, name, place, error) } }, "Play ", reveal(name));
    place.append(button);
    return place;
  }

  async #play(part, name, place, error) {
    say(error, "");
    try {
      const address = this.#address(await bytesOf(this.#path + part.fileId, { signal: this.#leaving.signal }));
      const player = h("audio", { src: address, controls: true, "aria-label": revealText(name) });
      player.addEventListener("error", () => say(error, "It cannot be played."));
      fill(place, player);
      player.focus();
    } catch (problem) {
      if (!this.#leaving.signal.aborted) fill(error, reveal(problem.message));
    }
  }

  async #save(part, name, error) {
    say(error, "");
    try {
      const address = this.#address(await bytesOf(this.#path + part.fileId, { signal: this.#leaving.signal }));
      h("a", { href: address, download: name }).click();
    } catch (problem) {
      if (!this.#leaving.signal.aborted) fill(error, reveal(problem.message));
    }
  }

  #address(blob) {
    const address = URL.createObjectURL(blob);
    this.#addresses.push(address);
    return address;
  }
}

// Pictures and files for a prompt: chosen with a button, dropped, or pasted. Each is sent at once, so that it is there when the prompt is; the
// prompt then names it by its id. What a file is the server says, by its bytes.

import { Problem, upload } from "./api.js";
import { fill, h, say, uniqueId } from "./dom.js";
import { size } from "./format.js";
import { reveal, revealText } from "./reveal.js";

/** As the server has it: docs/files.md. */
const largest = 20_000_000;
const most = 49; // parts of a prompt, beside its text

// A phone makes a JPEG of its own kind of picture where JPEG is asked for.
const offered = "image/png,image/jpeg,image/gif,image/webp,application/pdf,text/*,.txt,.log,.md,.csv,.json,.yaml,.yml";

/** A field as those of form.js; its value is the list of files that the server has: [{fileId, name, mediaType, size}]. */
export class Attachments {
  #files = []; // {name, size, fileId, mediaType, element, stop, error}
  #queue = Promise.resolve(); // of those that are to be sent
  #list = h("ul", { class: "attachments", "aria-label": "Attached files" });
  #said = h("p", { class: "off-screen", role: "status" });

  constructor(spec = { name: "files", label: "Pictures and files" }) {
    this.spec = spec;
    this.error = h("p", { class: "error", id: uniqueId("error"), role: "alert" });
    this.control = h("input", { type: "file", multiple: true, accept: offered, hidden: true, on: { change: () => this.#chosen() } });
    this.button = h("button", { type: "button", "aria-describedby": this.error.id, on: { click: () => this.control.click() } }, "Attach files");
    const hint = h("span", { class: "hint" }, "or drop or paste them: PNG, JPEG, GIF, WebP, PDF, text; 20 MB each");
    this.element = h("div", { class: "field field-files", role: "group", "aria-label": spec.label }, h("div", { class: "row" }, this.button, hint), this.control,
      this.#list, this.#said, this.error);
  }

  /** Takes what is dropped on an element, and files that are pasted into it. */
  takesFrom(element) {
    const carries = (event) => event.dataTransfer?.types.includes("Files");
    const over = (event, yes) => {
      if (!carries(event)) return;
      event.preventDefault();
      element.classList.toggle("dropping", yes);
    };
    element.addEventListener("dragover", (event) => over(event, true));
    element.addEventListener("dragleave", (event) => over(event, false));
    element.addEventListener("drop", (event) => {
      over(event, false);
      if (carries(event)) this.add(event.dataTransfer.files);
    });
    element.addEventListener("paste", (event) => {
      const files = event.clipboardData?.files ?? [];
      if (files.length === 0 || event.clipboardData.types.includes("text/plain")) return; // an office program adds a picture of its text
      event.preventDefault();
      this.add(files);
    });
  }

  get value() {
    return this.#files.filter((file) => file.fileId !== undefined).map(({ fileId, name, mediaType, size: bytes }) => ({ fileId, name, mediaType, size: bytes }));
  }

  set value(files) {
    for (const file of [...this.#files]) this.#remove(file);
    for (const file of files ?? []) this.#show({ ...file });
  }

  /** Removes the files that went with a prompt. What was attached while it was sent is for the next one. */
  forget(sent) {
    for (const file of this.#files.filter(({ fileId }) => sent.some((one) => one.fileId === fileId))) this.#remove(file);
  }

  add(files) {
    this.complain([]);
    for (const file of files) this.#send(file);
  }

  /** What keeps a prompt from being sent; "": nothing does. */
  get obstacle() {
    if (this.#files.some((file) => file.error !== undefined)) return "Remove the files that were not taken.";
    return this.#files.some((file) => file.fileId === undefined) ? "Wait until the files are sent." : "";
  }

  complain(messages) {
    say(this.error, messages.join(" "));
  }

  refuse(message) {
    this.complain([message]);
    this.focus();
  }

  focus() {
    this.button.focus();
  }

  #chosen() {
    const files = [...this.control.files];
    this.control.value = ""; // so that the same may be chosen again
    this.add(files);
  }

  #send(chosen) {
    if (this.#files.length === most) return this.complain([`A prompt has at most ${most} files.`]);
    const stop = new AbortController();
    const file = this.#show({ name: chosen.name, size: chosen.size, stop });
    if (chosen.size > largest) return this.#refuse(file, `It has ${size(chosen.size)}; a file has at most 20 MB.`);
    this.#queue = this.#queue.then(() => this.#upload(file, chosen));
  }

  /** One after the other: the server has so much room for a tenant, and twenty photos of a phone would wait there for a slow line. */
  async #upload(file, chosen) {
    const { signal } = file.stop;
    if (signal.aborted) return;
    try {
      this.#take(file, await upload(`/files?name=${encodeURIComponent(chosen.name)}`, chosen, { progress: (part) => (file.bar.value = part), signal }));
    } catch (problem) {
      if (signal.aborted) return;
      if (!(problem instanceof Problem)) reportError(problem);
      this.#refuse(file, problem.message);
    }
  }

  #show(file) {
    file.bar = h("progress", { max: "1", value: "0", "aria-label": `Sending ${revealText(file.name || "file")}` });
    file.state = h("span", { class: "state" }, file.fileId === undefined ? file.bar : null);
    const remove = h("button", { type: "button", class: "small", "aria-label": `Remove ${revealText(file.name || "file")}`, on: { click: () => this.#drop(file) } }, "Remove");
    file.element = h("li", { class: "row" }, h("span", { class: "name" }, reveal(file.name || "file")), h("span", { class: "small muted" }, size(file.size)), file.state, remove);
    this.#files.push(file);
    this.#list.append(file.element);
    return file;
  }

  #take(file, { id, mediaType, size: bytes }) {
    Object.assign(file, { fileId: id, mediaType, size: bytes });
    fill(file.state, h("span", { class: "small muted" }, "sent"));
    say(this.#said, `${file.name} is attached.`);
    this.#changed();
  }

  #refuse(file, message) {
    file.error = message;
    fill(file.state, h("span", { class: "error", role: "alert" }, reveal(message)));
  }

  #drop(file) {
    this.#remove(file);
    say(this.#said, `${file.name} is removed.`);
    this.focus();
    this.#changed();
  }

  #remove(file) {
    file.stop?.abort();
    file.element.remove();
    this.#files = this.#files.filter((one) => one !== file);
  }

  #changed() {
    this.complain([]);
    this.element.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** The prompt of a request: a text, or with files the list of its parts. */
export function promptOf(text, files) {
  if (files.length === 0) return text;
  const parts = Array.isArray(text) ? text : (text ?? "").trim() === "" ? [] : [{ type: "text", text }];
  return [...parts, ...files.map(({ fileId, mediaType }) => ({ type: mediaType.startsWith("image/") ? "image" : "file", fileId }))];
}

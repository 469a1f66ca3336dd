/** One event of a stream of server-sent events, as the HTML standard defines it. */
export interface Frame {
  /** The field `event`; `message` if it is missing. */
  event: string;
  /** The lines of `data`, joined by line feeds. */
  data: string;
  /** The id of this frame; undefined if it has none. A frame without an id must not move a cursor. */
  id: string | undefined;
}

/**
 * Assembles frames from bytes that come in pieces of any size: a cut may lie between the two bytes of a line's end,
 * and within a character. A frame ends with an empty line, so a connection that breaks within one
 * leaves nothing behind.
 */
export class EventStreamParser {
  /** The newest `retry` that the server sent, in milliseconds. */
  retry: number | undefined;

  #decoder = new TextDecoder(); // takes a byte order mark away
  #rest: string[] = []; // pieces of the line that has not ended
  #afterReturn = false; // a line feed that comes now belongs to the line before
  #event = "";
  #data: string[] = [];
  #id: string | undefined;

  /** Takes bytes and returns the frames that they complete. */
  push(bytes: Uint8Array): Frame[] {
    const frames: Frame[] = [];
    let text = this.#decoder.decode(bytes, { stream: true });
    if (this.#afterReturn && text !== "") {
      this.#afterReturn = false;
      if (text.startsWith("\n")) text = text.slice(1);
    }
    let start = 0;
    for (const end of text.matchAll(/\r\n|\n|\r/g)) {
      this.#rest.push(text.slice(start, end.index));
      start = end.index + end[0].length;
      this.#afterReturn = end[0] === "\r" && start === text.length;
      this.#line(this.#rest.join(""), frames);
      this.#rest = [];
    }
    if (start < text.length) this.#rest.push(text.slice(start));
    return frames;
  }

  #line(line: string, frames: Frame[]): void {
    if (line === "") return this.#dispatch(frames);
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    switch (name) {
      case "event":
        this.#event = value;
        break;
      case "data":
        this.#data.push(value);
        break;
      case "id":
        if (!value.includes("\0")) this.#id = value;
        break;
      case "retry":
        if (/^[0-9]+$/.test(value)) this.retry = Number(value);
        break;
    }
  }

  #dispatch(frames: Frame[]): void {
    if (this.#data.length > 0) {
      frames.push({ event: this.#event || "message", data: this.#data.join("\n"), id: this.#id });
    }
    this.#event = "";
    this.#data = [];
    this.#id = undefined;
  }
}

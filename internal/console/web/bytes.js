// Texts measured as the log measures them: in bytes of UTF-8, not in JavaScript's units of 16 bits.

/** How long each text of an item may be, as on the server. */
export const textBytes = 1 << 20;

/** The length of a text in UTF-8. */
export function byteLength(text) {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else if (isPair(text, at)) (bytes += 2), at++;
    else bytes += 2;
  }
  return bytes;
}

function isPair(text, at) {
  return (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
}

/** The beginning of a text in whole characters: {beginning, cut}. */
export function bounded(text, limit) {
  if (text.length * 3 <= limit || byteLength(text) <= limit) return { beginning: text, cut: false };
  let bytes = 0;
  let at = 0;
  for (const character of text) {
    bytes += byteLength(character);
    if (bytes > limit) break;
    at += character.length;
  }
  return { beginning: text.slice(0, at), cut: true };
}

/** A value, or null where it is too long: its beginning alone could not be read. */
export function boundedJSON(value) {
  if (value === undefined) return null;
  return byteLength(JSON.stringify(value)) > textBytes ? null : value;
}

/** A text that grows piece by piece. What is beyond the bound is counted and not kept. */
export class Growing {
  kept = "";
  length = 0; // in the log
  cut = false;
  #bytes = 0; // of what is kept

  /**
   * Throws where a piece does not begin at the end of what is there: what would be shown was never said. A piece without an offset
   * follows the one before it; the first piece always has one.
   */
  add(offset, piece, of) {
    const follows = offset === undefined && this.length > 0;
    if (!follows && offset !== this.length) throw new Misfit(`The log has a piece of ${of} at ${offset}, where ${this.length} bytes are.`);
    this.length += byteLength(piece);
    if (this.cut) return;
    const { beginning, cut } = bounded(piece, textBytes - this.#bytes);
    this.kept += beginning;
    this.#bytes = cut ? textBytes : this.length;
    this.cut = cut;
  }
}

/** The log is not what it should be. What was shown cannot be trusted. */
export class Misfit extends Error {}

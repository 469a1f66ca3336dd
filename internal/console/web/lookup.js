// Tables of words. An agent once named the type of a field "constructor", and every object has one of those: the look-up found a function where a
// word was meant, and the whole inbox went down with it. So what somebody else has named is looked up here.

/** What a table has for a word; undefined where it has none of its own, or where the word is no text at all. */
export function lookup(table, word) {
  return typeof word === "string" && Object.hasOwn(table, word) ? table[word] : undefined;
}

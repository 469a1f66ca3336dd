// What an external agent lets its user choose, in words for people. Ids, names and values are the agent's own. Pure.

import { revealText } from "./reveal.js";

/** An option on one line: {label, text}; its value is marked among those that there are. */
export function offerLine({ id, name, category, current, choices }) {
  const also = [id, category].filter((one, at, all) => one && one !== name && all.indexOf(one) === at).map(revealText);
  const values = choices.map(({ value }) => revealText(value) + (value === current ? " (now)" : ""));
  const label = name ? `${revealText(name)}${also.length > 0 ? ` (${also.join(", ")})` : ""}` : also.join(", ");
  return { label, text: values.length > 0 ? values.join(", ") : current ? `${revealText(current)} (now)` : "nothing to choose" };
}

/** The choices of an option for a list, of which the first leaves it as it is. */
export function choicesOf({ current, choices }) {
  const named = choices.map(({ value, name }) => ({ value, text: revealText(name || value) }));
  const now = named.find(({ value }) => value === current)?.text ?? revealText(current);
  return [{ value: "", text: now ? `stays ${now}` : "stays as it is" }, ...named.filter(({ value }) => value !== current)];
}

/** The option of a category, undefined where there is none. */
export function ofCategory(options, category) {
  return options.find((option) => option.category === category);
}

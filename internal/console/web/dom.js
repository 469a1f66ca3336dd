// Elements without markup. All text that the console shows is put in as text nodes, here and nowhere else: what a model, an
// agent or a colleague wrote is never read as HTML. The page's policy refuses innerHTML and its kin altogether.

/**
 * Makes an element: h("button", {class: "primary", disabled: true, on: {click: act}}, "Approve", icon).
 * Properties become attributes; true is an empty attribute, and false, null and undefined leave it out. `on` has listeners, `data`
 * the data attributes. Children are nodes, texts, numbers, lists of them; null, undefined and false are passed over.
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) set(element, name, value);
  append(element, children);
  return element;
}

function set(element, name, value) {
  if (name === "on") for (const [type, listener] of Object.entries(value)) element.addEventListener(type, listener);
  else if (name === "data") Object.assign(element.dataset, value);
  else attribute(element, name, value);
}

/** Sets an attribute, or takes it away. What is there already is left alone, so that nothing is drawn anew. */
export function attribute(element, name, value) {
  if (value === false || value === null || value === undefined) return element.removeAttribute(name);
  const text = value === true ? "" : String(value);
  if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** Replaces all that is in an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** Changes the text of an element where it is another one. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
  return element;
}

/**
 * Makes the children of an element those of a list, in its order: by key, what is there stays and is updated, what is new is made, what is
 * gone is taken away. Nothing that stays is touched, so focus, selection and open details survive.
 * `make(value)` returns an element; `update(element, value)` brings one up to date, also one that was just made.
 */
export function keyed(parent, values, key, make, update = () => {}) {
  const old = new Map();
  for (const element of parent.children) old.set(element.dataset.key, element);
  let next = parent.firstElementChild;
  for (const value of values) {
    const name = String(key(value));
    let element = old.get(name);
    old.delete(name);
    if (element === undefined) {
      element = make(value);
      element.dataset.key = name;
    }
    if (element === next) next = next.nextElementSibling;
    else parent.insertBefore(element, next);
    update(element, value);
  }
  for (const element of old.values()) element.remove();
}

let ids = 0;

/** A name for an element that labels or describes another one. */
export function uniqueId(prefix) {
  return `${prefix}-${++ids}`;
}

/** Calls draw once before the next picture, however often it is asked; and also where the tab is hidden, only later. */
export function painter(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    const go = () => {
      if (!asked) return;
      asked = false;
      clearTimeout(late);
      draw();
    };
    const late = setTimeout(go, 500); // a hidden tab has no pictures
    requestAnimationFrame(go);
  };
}

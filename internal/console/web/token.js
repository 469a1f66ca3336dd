// The token of this tab. The first link brings it in its fragment, which no server and no log ever sees; from there it moves into the
// tab's sessionStorage and leaves the address bar and the tab's list of where it was. Another tab has to be given the link again.
//
// It does not leave the browser's own history: Chromium writes the first address of a visit to the disk before any module runs, with
// its fragment. Who minds opens the link in a private window, or the page alone, and pastes the token.

const place = "signoff.token";

/** Takes the token out of the address, where there is one: #token=…, and after it the page, #token=…&page=/inbox. */
export function takeToken() {
  const fragment = location.hash.slice(1);
  if (!fragment.startsWith("token=")) return;
  const parts = new URLSearchParams(fragment);
  keepToken(parts.get("token") ?? "");
  const page = parts.get("page") ?? "";
  history.replaceState(null, "", page.startsWith("/") ? `#${page}` : location.pathname);
}

/** Keeps what a person pasted: a token, or the link that has it. Returns whether it can be one. */
export function keepToken(pasted) {
  const token = pasted.trim().replace(/^.*#token=/, "").replace(/&.*$/, "");
  if (!/^[!-~]{8,500}$/.test(token)) return false;
  sessionStorage.setItem(place, token);
  return true;
}

/** Null: there is none. */
export function token() {
  return sessionStorage.getItem(place);
}

export function forgetToken() {
  sessionStorage.removeItem(place);
}

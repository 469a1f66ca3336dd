// Asks for the card as the button does, and puts it in the place of the button. Where that fails, the button is still there.
const body = new URLSearchParams({ decision: "show" });
fetch(location.href, { method: "POST", body, credentials: "omit", cache: "no-store" }).then(async (answer) => {
  if (!answer.headers.get("Content-Type")?.startsWith("text/html")) return;
  const card = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.title = card.title;
  document.querySelector("main").replaceWith(card.querySelector("main"));
}).catch(() => {});

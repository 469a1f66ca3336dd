// How far a running call says that it is, in one line.

/** The line; empty: the call says nothing. A percentage is said only where it can be one. */
export function progressLine(progress) {
  if (!progress) return "";
  const { done, total, message = "" } = progress;
  return [shareOf(done, total), message].filter((part) => part !== "").join(" · ");
}

function shareOf(done, total) {
  if (typeof total !== "number" || total <= 0) return `${done} so far`;
  return done >= 0 && done <= total ? `${Math.floor((done / total) * 100)} %` : `${done} of ${total}`;
}

// What a thumb needs of a page: that it does not scroll sideways, and that what is to be touched is large enough.

/** Says where a page does not fit, and what on it a thumb would miss. */
export async function misfits(page, what) {
  const found = await page.evaluate(() => {
    const root = document.documentElement;
    const wide = [...document.querySelectorAll("body *")].filter(
      (one) => one.getBoundingClientRect().right > root.clientWidth + 1 && !one.closest(".scroll, [tabindex='0'], .skip, pre, table"),
    );
    const labelled = (one) => (["checkbox", "radio"].includes(one.type) ? (one.closest("label") ?? one.labels?.[0]?.parentElement ?? one) : one);
    const targets = [...document.querySelectorAll("button, .button, select, textarea, input, summary, nav a, [role='button'], [role='tab']")];
    const seen = targets.filter(
      (one) => one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length > 0 && !one.classList.contains("skip"),
    );
    const little = seen.filter((one) => {
      const box = labelled(one).getBoundingClientRect();
      return box.height < 43.5 || box.width < 43.5;
    });
    const say = (one) => {
      const { width, height, right } = one.getBoundingClientRect();
      return `${one.outerHTML.slice(0, 120)} ${Math.round(width)} × ${Math.round(height)}, right end at ${Math.round(right)}`;
    };
    return {
      sideways: root.scrollWidth > root.clientWidth ? [`${root.scrollWidth} of ${root.clientWidth}`, ...wide.slice(0, 5).map(say)] : [],
      little: little.slice(0, 10).map(say),
    };
  });
  return [
    ...found.sideways.map((one) => `${what} scrolls sideways: ${one}`),
    ...found.little.map((one) => `${what} has a target below 44 px: ${one}`),
  ];
}

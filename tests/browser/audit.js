() => {
  const problems = [];
  const shown = (node) => {
    for (let n = node; n && n.nodeType === 1; n = n.parentElement) {
      const s = getComputedStyle(n);
      if (s.display === "none" || s.visibility === "hidden" || Number(s.opacity) < 0.1 || n.hidden) return false;
    }
    const r = node.getBoundingClientRect();
    return r.width > 1 && r.height > 1;
  };
  const where = (node) => `${node.tagName.toLowerCase()}.${[...node.classList].join(".")} "${(node.textContent || "").trim().slice(0, 40)}"`;
  const labelled = (node) => {
    const by = node.getAttribute("aria-labelledby");
    if (by) return by.split(" ").map((i) => document.getElementById(i)?.textContent ?? "").join("");
    return node.getAttribute("aria-label") || (node.labels && [...node.labels].map((l) => l.textContent).join("")) || node.textContent || node.title || "";
  };

  // names
  for (const node of document.querySelectorAll("button, a[href], input, select, textarea, [role=img], [role=listbox], [role=tablist], [role=switch], section, nav, summary")) {
    if (node.closest("section") === node && !shown(node)) continue;
    if (!labelled(node).trim()) problems.push(`no name: ${where(node)}`);
  }
  // ids and references
  const ids = [...document.querySelectorAll("[id]")].map((n) => n.id);
  ids.filter((i, n) => ids.indexOf(i) !== n).forEach((i) => problems.push(`id twice: ${i}`));
  for (const name of ["aria-controls", "aria-labelledby", "aria-activedescendant", "for"]) {
    for (const node of document.querySelectorAll(`[${name}]`)) {
      for (const id of node.getAttribute(name).split(" ")) if (!document.getElementById(id)) problems.push(`${name} to nothing: ${id}`);
    }
  }
  // roles in their places
  for (const [role, parent] of [["option", "listbox"], ["tab", "tablist"]]) {
    for (const node of document.querySelectorAll(`[role=${role}]`)) if (!node.closest(`[role=${parent}]`)) problems.push(`${role} outside ${parent}`);
  }
  for (const node of document.querySelectorAll("[role=switch]")) if (!node.hasAttribute("aria-checked")) problems.push("switch without state");
  for (const node of document.querySelectorAll("[tabindex]")) if (Number(node.getAttribute("tabindex")) > 0) problems.push("positive tabindex");
  for (const node of document.querySelectorAll("ul, ol")) {
    for (const child of node.children) if (child.tagName !== "LI") problems.push(`not a list item: ${where(child)}`);
  }
  for (const node of document.querySelectorAll("button button, a button, button a")) problems.push(`nested control: ${where(node)}`);
  if (!document.documentElement.lang) problems.push("no language");
  if (document.querySelectorAll("main").length !== 1) problems.push("not one main");
  if (!document.title) problems.push("no title");
  // targets large enough for a finger
  for (const node of document.querySelectorAll("button, input, select, [role=tab]")) {
    const r = node.getBoundingClientRect();
    if (shown(node) && (r.width < 24 || r.height < 24)) problems.push(`small target ${Math.round(r.width)}x${Math.round(r.height)}: ${where(node)}`);
  }
  // headings: none skipped
  let last = 0;
  for (const node of document.querySelectorAll("h1, h2, h3, h4")) {
    if (!shown(node)) continue;
    const level = Number(node.tagName[1]);
    if (last && level > last + 1) problems.push(`heading ${last} to ${level}: ${where(node)}`);
    last = level;
  }

  // contrast
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parse = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = "#000"; canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return a ? [r, g, b, a / 255] : [0, 0, 0, 0];
  };
  const over = (top, under) => top.slice(0, 3).map((c, n) => c * top[3] + under[n] * (1 - top[3])).concat(1);
  const background = (node) => {
    const layers = [];
    const word = node.closest("g.node, g.edge-word");
    if (word) return parse(getComputedStyle(word.querySelector("rect")).fill);
    for (let n = node; n; n = n.parentElement) {
      const colour = parse(getComputedStyle(n).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
  };
  const light = ([r, g, b]) => [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || /^(SCRIPT|STYLE|TITLE|NOSCRIPT|OPTION)$/i.test(node.tagName) || node.tagName === "title") continue;
    if (!shown(node) || node.closest(".hidden")) continue;
    texts += 1;
    const style = getComputedStyle(node);
    const vector = node instanceof SVGElement;
    const under = background(node);
    const ink = over(parse(vector ? style.fill : style.color), under);
    const [a, b] = [light(ink), light(under)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = Number.parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) problems.push(`contrast ${ratio.toFixed(2)}: ${where(node)}`);
  }
  if (!texts) problems.push("no text to check");
  // nothing wider than the screen
  if (document.documentElement.scrollWidth > innerWidth + 1) problems.push(`page scrolls sideways: ${document.documentElement.scrollWidth} > ${innerWidth}`);
  return [...new Set(problems)];
}

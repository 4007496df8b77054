// Markdown as the cards of releases have it, cut into blocks: headings, tables, lists, code, text.
export type Block =
  | { kind: "heading"; level: number; text: string }
  | { kind: "list"; items: string[] }
  | { kind: "table"; head: string[]; rows: string[][] }
  | { kind: "code"; text: string }
  | { kind: "text"; text: string };

export type Inline = { kind: "text" | "code" | "strong" | "link"; text: string; href?: string };

export function blocksOf(markdown: string): Block[] {
  const lines = withoutFrontMatter(markdown).split("\n");
  const blocks: Block[] = [];
  let at = 0;
  const take = (is: (line: string) => boolean): string[] => {
    const begin = at;
    while (at < lines.length && is(lines[at] ?? "")) at += 1;
    return lines.slice(begin, at);
  };
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const heading = /^(#{1,6}) (.*)$/.exec(line);
    if (!line.trim()) at += 1;
    else if (heading) {
      blocks.push({ kind: "heading", level: heading[1]?.length ?? 1, text: heading[2] ?? "" });
      at += 1;
    } else if (line.startsWith("```")) {
      at += 1;
      const text = take((each) => !each.startsWith("```")).join("\n");
      at += 1;
      blocks.push({ kind: "code", text });
    } else if (/^\s*\|/.test(line)) {
      const [head = "", , ...rows] = take((each) => /^\s*\|/.test(each));
      blocks.push({ kind: "table", head: cellsOf(head), rows: rows.map(cellsOf) });
    } else if (/^[-*] /.test(line)) {
      const own = take((each) => /^([-*] |\s+\S)/.test(each));
      const items: string[] = [];
      for (const each of own) {
        if (/^[-*] /.test(each)) items.push(each.slice(2));
        else items[items.length - 1] += ` ${each.trim()}`;
      }
      blocks.push({ kind: "list", items });
    } else {
      const text = take((each) => each.trim() !== "" && !/^(#|```|\s*\||[-*] )/.test(each));
      if (text.length) blocks.push({ kind: "text", text: text.join(" ") });
      else at += 1;
    }
  }
  return blocks;
}

function withoutFrontMatter(markdown: string): string {
  return markdown.replace(/^---\n[\s\S]*?\n---\n/, "");
}

function cellsOf(line: string): string[] {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** Code, strong words and links within a line; links lead to the web or nowhere. */
export function inlinesOf(text: string): Inline[] {
  const parts: Inline[] = [];
  const marks = /`([^`]+)`|\*\*([^*]+)\*\*|!?\[([^\]]*)\]\(([^)\s]+)\)/g;
  let from = 0;
  for (const found of text.matchAll(marks)) {
    if (found.index > from)
      parts.push({ kind: "text", text: plain(text.slice(from, found.index)) });
    const [, code, strong, link, href = ""] = found;
    if (code !== undefined) parts.push({ kind: "code", text: code });
    else if (strong !== undefined) parts.push({ kind: "strong", text: plain(strong) });
    else if (/^https?:\/\//.test(href)) parts.push({ kind: "link", text: plain(link ?? ""), href });
    else parts.push({ kind: "text", text: plain(link ?? "") });
    from = found.index + found[0].length;
  }
  if (from < text.length) parts.push({ kind: "text", text: plain(text.slice(from)) });
  return parts;
}

function plain(text: string): string {
  return text
    .replace(/\\([\\`*_{}[\]()#+.!|<>~-])/g, "$1")
    .replaceAll("&lt;", "<")
    .replaceAll("&amp;", "&");
}

import { type ReactNode, useMemo } from "react";
import { type Block, blocksOf, inlinesOf } from "./markdown";

/** The card of a release, as a page. */
export function CardView({ card }: { card: string }) {
  const blocks = useMemo(() => blocksOf(card), [card]);
  return <article className="release-card">{blocks.map(blockView)}</article>;
}

function blockView(block: Block, place: number): ReactNode {
  if (block.kind === "heading") {
    const Heading = block.level < 2 ? "h2" : "h3";
    return <Heading key={place}>{words(block.text)}</Heading>;
  }
  if (block.kind === "code") return <pre key={place}>{block.text}</pre>;
  if (block.kind === "text") return <p key={place}>{words(block.text)}</p>;
  if (block.kind === "list") {
    return (
      <ul key={place}>
        {block.items.map((item) => (
          <li key={item}>{words(item)}</li>
        ))}
      </ul>
    );
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
    <section key={place} className="release-card-table" tabIndex={0} aria-label="Table">
      <table>
        <thead>
          <tr>
            {block.head.map((cell) => (
              <th key={cell} scope="col">
                {words(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {block.rows.map((row) => (
            <tr key={row.join("|")}>
              {row.map((cell, column) => (
                <td key={`${block.head[column] ?? column}`}>{words(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function words(text: string): ReactNode {
  return inlinesOf(text).map((part) => {
    const key = `${part.kind} ${part.text}`;
    if (part.kind === "code") return <code key={key}>{part.text}</code>;
    if (part.kind === "strong") return <b key={key}>{part.text}</b>;
    if (part.kind === "link")
      return (
        <a key={key} href={part.href} rel="noreferrer">
          {part.text}
        </a>
      );
    return part.text;
  });
}

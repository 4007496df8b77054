import type { Way } from "./host";

/** How another device, such as a headset, opens this page. */
export function Ways({ ways }: { ways: Way[] }) {
  if (!ways.length) return null;
  return (
    <details className="ways">
      <summary>Open this page on a headset or a phone</summary>
      <ol>
        {ways.map(({ name, url, todo }) => (
          <li key={`${name} ${url}`}>
            <strong>{name}</strong> <code>{url}</code>
            {todo && <pre>{todo}</pre>}
          </li>
        ))}
      </ol>
    </details>
  );
}

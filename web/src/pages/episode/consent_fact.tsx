/** What the recording says of consent, if anything. */
export function ConsentFact({ metadata }: { metadata: Record<string, unknown> }) {
  const said = metadata.consent ?? metadata.consents;
  const words =
    said === undefined || said === null
      ? null
      : typeof said === "string"
        ? said
        : JSON.stringify(said);
  return (
    <div>
      <dt>Consent</dt>
      <dd className={words ? undefined : "muted"}>{words ?? "not stated"}</dd>
    </div>
  );
}

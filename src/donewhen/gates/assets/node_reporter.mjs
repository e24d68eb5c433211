// A reporter for `node --test`: one JSON object a line, with the file of each test, which none of
// node's own reporters has in every version. The last line says that all was written.

const LONGEST = 20000; // characters of one failure
const ROWS = new Set(["test:start", "test:pass", "test:fail"]);

function said(error) {
  const cause = error?.cause ?? error;
  return {
    kind: typeof cause?.name === "string" ? cause.name : "",
    message: String(cause?.message ?? cause ?? "").slice(0, LONGEST),
    text: String(cause?.stack ?? "").slice(0, LONGEST),
    failure: error?.failureType ?? "",
  };
}

function row(type, data) {
  const { name, nesting, file, line, details, skip, todo } = data;
  const marks = { skip: skip !== undefined && skip !== false, todo: todo !== undefined && todo !== false };
  const error = type === "test:fail" ? said(details?.error) : undefined;
  return { type, name, nesting, file, line, suite: details?.type === "suite", ...marks, error };
}

export default async function* reporter(source) {
  for await (const { type, data } of source) {
    if (ROWS.has(type)) yield `${JSON.stringify(row(type, data))}\n`;
  }
  yield `${JSON.stringify({ type: "end" })}\n`;
}

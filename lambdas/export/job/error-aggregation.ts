/** What is done about each of many: one that cannot be helped keeps no other waiting. */

/** In order, each of them also after others threw; then throws what they threw: where it is one, that. */
export async function forEachCollectingErrors<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  act: (item: Item) => Promise<void>,
): Promise<void> {
  const thrown: unknown[] = []
  for await (const item of items) await act(item).catch((error: unknown) => thrown.push(error))
  if (thrown.length > 1) throw new AggregateError(thrown, `${thrown.length} of these failed: ${thrown.map(nameOf).join(', ')}`)
  if (thrown.length === 1) throw thrown[0]
}

/** Messages may tell of content. */
const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error)

/** The errors behind one. */
export const flattenErrors = (error: unknown): readonly unknown[] =>
  error instanceof AggregateError ? error.errors.flatMap(flattenErrors) : [error]

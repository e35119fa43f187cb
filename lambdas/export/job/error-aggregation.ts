/** Runs the action on all items in order, also after failures. Then throws the error, or an AggregateError if several items failed. */
export async function forEachCollectingErrors<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  act: (item: Item) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = []
  for await (const item of items) await act(item).catch((error: unknown) => errors.push(error))
  if (errors.length > 1) throw new AggregateError(errors, `${errors.length} of these failed: ${errors.map(nameOf).join(', ')}`)
  if (errors.length === 1) throw errors[0]
}

/** Returns the error class only: a message may contain data of resources. */
const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error)

/** Returns the individual errors of nested AggregateErrors. */
export const flattenErrors = (error: unknown): readonly unknown[] =>
  error instanceof AggregateError ? error.errors.flatMap(flattenErrors) : [error]

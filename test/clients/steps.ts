/** What every client does with the server, in the words its program tells of it. */

export const STEPS = [
  ...['capabilities', 'create', 'update with If-Match', 'a stale If-Match is refused'],
  ...['conditional create', 'conditional update', 'conditional delete'],
  ...['patch', 'delete', 'paged search', '_include', 'transaction', 'history'],
] as const
export type Step = (typeof STEPS)[number]

/** Throws where what came is not what was expected. */
export type ClientSteps = Readonly<Partial<Record<Step, () => Promise<void>>>>

/** Step → what went wrong, '' where nothing did. */
export type StepResults = ReadonlyMap<string, string>

export async function runSteps(steps: ClientSteps): Promise<StepResults> {
  const done = new Map<string, string>()
  for (const [step, run] of Object.entries(steps))
    done.set(
      step,
      await run().then(
        () => '',
        (error: unknown) => String((error as Error).stack ?? error),
      ),
    )
  return done
}

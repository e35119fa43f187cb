/** Steps that clients run, by the names that their programs print. */

export const STEPS = [
  ...['capabilities', 'create', 'update with If-Match', 'a stale If-Match is rejected'],
  ...['conditional create', 'conditional update', 'conditional delete'],
  ...['patch', 'delete', 'paged search', '_include', 'transaction', 'history'],
] as const
export type Step = (typeof STEPS)[number]

/** Steps of a client. A step throws if a result differs from the expected one. */
export type ClientSteps = Readonly<Partial<Record<Step, () => Promise<void>>>>

/** Error of each step. It is empty for a successful step. */
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

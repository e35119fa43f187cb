/** Time limits of sweeps, and of the steps and executions of workflows, on AWS. */

/** How long a step of a rebuild starts further pages, in milliseconds. */
export const REBUILD_STEP_MS = 4 * 60_000

/**
 * How long a step of an export starts further work, in milliseconds. The rest of the function's fifteen minutes is for the last part or
 * page, which may be slow.
 */
export const EXPORT_STEP_MS = 10 * 60_000

/** How long planning starts further reads, in milliseconds. The rest of the function's fifteen minutes is for the last read. */
export const LONGEST_PLAN_MS = 12 * 60_000

/**
 * How long a sweep starts further pages, in milliseconds. The rest of the function's five minutes is for the last page, whose entries may
 * be slow.
 */
export const SWEEP_MS = 3 * 60_000

/** How long the sweep of the index, which runs every minute, starts further writes, in milliseconds. */
export const INDEX_SWEEP_MS = 50_000

/**
 * Maximum days of an execution, after which it counts as stuck and is ended. A restarted execution continues. One of a rebuild ends itself
 * after 2,000 steps, which is three days of two functions that fill an index, and five and a half days of one.
 */
export const EXECUTION_DAYS = { rebuild: 6, export: 2 } as const

/** The steps of the export workflow (workflow.ts): what they need of the world, what they are given and what they give. */
import type { BlobStore } from '../ports/blobs/blob-store.ts'
import type { ExpressionRunner } from '../ports/execution/expression-runner.ts'
import type { Rows } from '../ports/rows/rows.ts'
import type { SearchIndex } from '../ports/search/search-index.ts'
import type { ResourceReader } from '../ports/store/resource-store.ts'
import type { SettledVersions } from '../ports/store/settled-versions.ts'
import type { SearchContext } from '../search/search-context.ts'
import type { AdditionalResources } from './additional-resources.ts'

export type ExportParts = {
  readonly rows: Rows
  readonly resources: Pick<ResourceReader, 'current' | 'heads' | 'versions' | 'history' | 'scan' | 'extent'> & SettledVersions
  /** It shows what was committed before it is asked. */
  readonly index: Pick<SearchIndex, 'find' | 'distinct'>
  /** Of export files. */
  readonly blobs: BlobStore
  /** How often the store was set back to an earlier time. Absent: never. */
  readonly epoch?: number
  /** How a tenant's texts are read, as of now. */
  readonly readingOf: (tenant: string) => Promise<SearchContext>
  readonly expressions: () => ExpressionRunner
  readonly now: () => number
  /** Milliseconds since some moment, by a clock nobody sets: how long something goes on. */
  readonly elapsed: () => number
  readonly newId: () => string
  /** Milliseconds a step may go on: then it leaves a checkpoint, and is called again. */
  readonly budget: number
  /** Milliseconds for which a plan may read, where its step is ended some time later; absent: as long as it takes. */
  readonly longestPlan?: number
  /** Most seconds between two tries of a plan, for workflows with a limited number of events. Absent: one. */
  readonly longestWait?: number
  /** Setting: the types of exports of groups. */
  readonly groupTypes: readonly string[]
  /** Setting: what is exported because something refers to it. */
  readonly additionalResources: AdditionalResources
  /** Gets what broke in a step. */
  readonly report: (error: unknown) => void
}

type OfJob = { readonly job: string; readonly attempt: number }

export type StepInput = OfJob &
  (
    | { readonly action: 'plan' | 'gather' | 'finish' }
    /** `error`: the name of what ended the work. */
    | { readonly action: 'fail'; readonly error?: string }
    | { readonly action: 'write'; readonly segment: string }
    | { readonly action: 'collect'; readonly range: string }
  )

/** `wait`: seconds until it is asked again; 0: `segments` are planned. */
export type PlanOutput = OfJob & { readonly wait: number; readonly segments: readonly string[] }
/** None: there is nothing to collect, or no more. */
export type RangePlanOutput = OfJob & { readonly ranges: readonly string[] }
/** Of a writer: there is more to do. */
export type SliceOutput = OfJob & { readonly more: boolean } & ({ readonly segment: string } | { readonly range: string })

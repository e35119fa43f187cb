/** Steps of the export workflow (workflow.ts): their dependencies, inputs and outputs. */
import type { FoundMatch, MatchOwner } from '../partners/bulk/found-match.ts'
import type { TransmittingPayer } from '../partners/disclosures/transmissions.ts'
import type { MatchLimits } from '../partners/guesses/match-limits.ts'
import type { BlobStore } from '../ports/blobs/blob-store.ts'
import type { ExpressionRunner } from '../ports/execution/expression-runner.ts'
import type { Rows } from '../ports/rows/rows.ts'
import type { Searches } from '../ports/search/search-index.ts'
import type { ResourceReader } from '../ports/store/resource-store.ts'
import type { SettledVersions } from '../ports/store/settled-versions.ts'
import type { SearchContext } from '../search/search-context.ts'
import type { AdditionalResources } from './additional-resources.ts'
import type { PartnerSettings } from './partner-export.ts'

export type ExportParts = {
  readonly rows: Rows
  readonly resources: Pick<ResourceReader, 'current' | 'heads' | 'versions' | 'history' | 'scan' | 'extent'> & SettledVersions
  /** Search index. A search shows all commits that precede the call, or throws. */
  readonly index: Pick<Searches, 'find' | 'distinct'>
  /** Blob store of export files and temporary data. */
  readonly blobs: BlobStore
  /** Current restore generation of the store. A step of a job from another generation fails the job. Absent: 0. */
  readonly epoch?: number
  /** Returns the current search context of a tenant. */
  readonly readingOf: (tenant: string) => Promise<SearchContext>
  readonly expressions: () => ExpressionRunner
  readonly now: () => number
  /** Milliseconds by a monotonic clock, to measure durations. */
  readonly elapsed: () => number
  readonly newId: () => string
  /** Milliseconds after which a step stores a checkpoint and ends, once its current page is done. The workflow then calls it again. */
  readonly budget: number
  /** Maximum milliseconds to resolve the scope of a job. Above it the job fails. It is less than the time limit of the step. Absent: none. */
  readonly longestPlan?: number
  /** Maximum seconds between two attempts to plan. Workflows with a limited number of events need longer pauses. Absent: one. */
  readonly longestWait?: number
  /** Maximum bytes of a file. Absent: MAX_FILE_BYTES. */
  readonly maxFileBytes?: number
  /** Setting: types of Group exports. */
  readonly groupTypes: readonly string[]
  /** Setting: rules for resources that are exported by reference. */
  readonly additionalResources: AdditionalResources
  /** Stores the result of a match. Does not change a resource that exists, so it can be repeated. */
  readonly storeMatch: (owner: MatchOwner, match: FoundMatch) => Promise<void>
  /** Whether a client is registered as a partner. */
  readonly isPartner: (client: string) => Promise<boolean>
  /** Limits of guesses by partners, for matches of many members. */
  readonly matchLimits: JobMatchLimits
  /** Settings of exports for partners. */
  readonly partners: PartnerSettings
  /** Record of disclosures of exports for partners, and the payer that transmits them. */
  readonly disclosing: { readonly blobs: Pick<BlobStore, 'put'>; readonly payer: TransmittingPayer }
  /** Reports errors of a step. */
  readonly report: (error: unknown) => void
}

/** Part of MatchLimits that jobs use. */
export type JobMatchLimits = Pick<MatchLimits, 'blockedAmong' | 'count'>

type OfJob = { readonly job: string; readonly attempt: number }

export type StepInput = OfJob &
  (
    | { readonly action: 'plan' | 'gather' | 'finish' }
    /** `error`: name of the error that ended the retries of a step. */
    | { readonly action: 'fail'; readonly error?: string }
    | { readonly action: 'write'; readonly segment: string }
    | { readonly action: 'collect'; readonly range: string }
  )

/** `wait`: seconds until the next attempt to plan. 0: `segments` are planned. */
export type PlanOutput = OfJob & { readonly wait: number; readonly segments: readonly string[] }
/** An empty `ranges` means that nothing is left to collect. */
export type RangePlanOutput = OfJob & { readonly ranges: readonly string[] }
/** `more`: whether the writer or collector has more to do. */
export type SliceOutput = OfJob & { readonly more: boolean } & ({ readonly segment: string } | { readonly range: string })

/** What an interaction gets and gives: HTTP is already behind it, stores are ports. */
import type { Access } from '../access/access.ts'
import type { ClientAuth } from '../access/claims.ts'
import type { InteractionCode } from '../catalogue/routes.ts'
import type { Job } from '../export/job/job.ts'
import type { BundlePage } from '../fhir/bundle.ts'
import type { MediaRange } from '../fhir/media-range.ts'
import type { Issue } from '../fhir/outcome.ts'
import type { Resource } from '../fhir/resource.ts'
import type { BlobStore } from '../ports/blobs/blob-store.ts'
import type { Clock } from '../ports/execution/clock.ts'
import type { ExpressionRunner } from '../ports/execution/expression-runner.ts'
import type { IndexProgress, Reindexer } from '../ports/search/index-status.ts'
import type { SearchIndex } from '../ports/search/search-index.ts'
import type { Seal } from '../ports/security/seal.ts'
import type { CommitResult, ResourceReader, UniquenessGuard, VersionKey, Write } from '../ports/store/resource-store.ts'
import type { ParameterPairs } from '../search/query/parameter-pairs.ts'
import type { ResponsePart } from '../search/query/response-part.ts'
import type { SearchContext } from '../search/search-context.ts'
import type { CallerAccess, VisibleStoreOf } from './visible-store.ts'

/** https://hl7.org/fhir/R4/http.html#cond-update and following; versions as numbers, instants in ms. */
export type Preconditions = {
  /** One of these; `*`: any that there is. */
  readonly ifMatch?: readonly number[] | '*'
  /** None of these; `*`: no version at all. */
  readonly ifNoneMatch?: readonly number[] | '*'
  readonly ifModifiedSince?: number
  /** The search of If-None-Exist. */
  readonly ifNoneExist?: string
}

/** The Prefer header, and X-Consistency. https://hl7.org/fhir/R4/http.html#ops, https://hl7.org/fhir/R4/search.html#errors */
export type Preferences = {
  readonly return?: 'minimal' | 'representation' | 'OperationOutcome'
  readonly handling?: 'strict' | 'lenient'
  readonly pagination?: 'offset-skip' | 'offset-page'
  readonly explain?: 'true'
  readonly 'respond-async'?: 'true'
  /** A search is answered at once, from what is indexed by now. */
  readonly consistency?: 'eventual'
}

/** What is asked. An entry of a Bundle asks for itself. */
export type RequestContent = {
  /** `Patient/1`: only what belongs to it. */
  readonly compartment?: string
  readonly type?: string
  readonly id?: string
  readonly versionId?: string
  /** Of an export, as its link names it. */
  readonly file?: string
  /** Parameters of the URL and, for a form, of the body, decoded, in order. */
  readonly parameters: ParameterPairs
  /** The parameters came in a body: paging links must not show them. */
  readonly posted: boolean
  /** The body, parsed and checked; a patch document is whatever JSON it is. */
  readonly resource?: Resource
  readonly patch?: unknown
  readonly preconditions: Preconditions
  readonly preferences: Preferences
  /** Of an export: the URL, as it was sent. */
  readonly url?: string
  /** What the client takes, when it wants a Binary as what it is. */
  readonly rawAccept?: readonly MediaRange[]
}

/** Who asks. `client`: its id; `open` where nobody is asked who they are. What one is handed to come back with is of no use to another. */
export type Caller = {
  readonly tenant: string
  readonly client: string
  readonly access: Access
  /** Subject of the user who logged in. undefined: the client acts for itself. */
  readonly user: string | undefined
  /** How the client proved who it is. */
  readonly clientAuth: ClientAuth
}

/** What the entries of a Bundle have in common with it: who asks, and who is asked. `requestId`: by which logs and answers name the request. */
export type RequestContext = Caller & {
  /** What the server calls itself, without a slash at the end. */
  readonly baseUrl: string
  /** How texts are read for the tenant, as of now. */
  readonly reading: SearchContext
  readonly requestId: string
}

export type FhirRequest = RequestContent & RequestContext & { readonly interaction: InteractionCode }

/** A version that was made. `about`: its compartments, and the patient of a Device. */
export type WrittenVersion = VersionKey & { readonly about: readonly string[] }

export type FhirResponse = {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Of the version it tells of, ms since 1970: headers have seconds only. */
  readonly lastUpdated?: number
  /** A tree, a page of a Bundle, or bytes: JSON of a resource unless `content-type` says otherwise. */
  readonly body?: Resource | BundlePage | Uint8Array
  /** Of each resource it shows. Absent: as the parameters of the request say. */
  readonly part?: ResponsePart
  /** The versions the request made. */
  readonly written?: readonly WrittenVersion[]
  /** Compartments of the resources that it shows; entries of its page name their own. */
  readonly about?: readonly string[]
  /** Names in the requests of a Bundle's entries. */
  readonly named?: readonly RequestNames[]
  /** Of what was written: beside the body in a Bundle; elsewhere in its place, where the client asked for that, or must know. */
  readonly warnings?: Warnings
  /** The export it began, or is about. */
  readonly job?: ExportNames
  /** Instead of a body. */
  readonly file?: StoredFile
  /** Whose it is, where a link says so instead of a token. */
  readonly by?: Pick<Caller, 'tenant' | 'client'>
}

/** Names in a request, or in an entry of a Bundle. `key`: the resource that a read names; `patients`: `Patient/1` …; `queries`: parameters. */
export type RequestNames = { readonly key?: string; readonly patients: readonly string[]; readonly queries: readonly ParameterPairs[] }

export type ExportNames = Pick<Job, 'id' | 'level' | 'group'>

/** `outcome`: an OperationOutcome. */
export type Warnings = { readonly outcome: Resource; readonly mustBeKnown: boolean }

/** Bytes that are read as they are sent. `name`: what a client may keep it as, without quotes; `written`: when it was finished, ms since 1970; `tag`: names its content, within quotes a strong ETag. */
export type StoredFile = {
  readonly name: string
  readonly size: number
  readonly written: number
  readonly tag: string
  readonly contentType: string
  /** From the first byte to before the last, in pieces. Fails where they are gone. */
  readonly read: (from: number, to: number) => AsyncIterable<Uint8Array>
}

/** Most entries of a Bundle have nothing to wait for, and a promise for each of thousands is dear. */
export type Awaitable<T> = T | Promise<T>

export type Interaction = (request: FhirRequest) => Promise<FhirResponse>

/** How this server answers where the specification leaves a choice; runtime/config.ts documents each. */
export type Choices = {
  readonly clientIds: 'required' | 'optional'
  readonly conditionalUpdateIdMismatch: 'accept' | 'reject'
  readonly noOpUpdates: 'version' | 'ignore'
  readonly versioning: boolean
  readonly maxTransactionEntries: number
  readonly access: 'token' | 'iam' | 'open'
  readonly exportNeedsAssertion: boolean
  readonly userExports: boolean
  readonly maxRunningExports: number
  readonly exportRetentionDays: number
  readonly validateProfiles: 'off' | 'warn' | 'enforce'
  readonly referentialIntegrity: boolean
}

/** `by`: who asked for the commit. */
export type RequestWriter = {
  readonly commit: (
    writes: readonly Write[],
    guards: readonly UniquenessGuard[],
    by: CallerAccess & Pick<RequestContext, 'requestId'>,
  ) => Promise<CommitResult>
}

/** What interactions may need; each names its own with Pick. */
export type Ports = {
  readonly resources: VisibleStoreOf
  /** As they are: writes judge them. */
  readonly heads: ResourceReader['heads']
  readonly writer: RequestWriter
  readonly index: SearchIndex
  /** The index as conditional interactions ask it: one for all searches of an attempt, which looks at what was written lately once. */
  readonly latest: () => SearchIndex
  readonly clock: Clock
  readonly seal: Seal
  readonly blobs: BlobStore
  readonly progress: IndexProgress
  readonly reindex: Reindexer
  readonly expressions: ExpressionRunner
  /** What is to be told of a resource that a tenant is to store. FhirError 422 where it may not be. */
  readonly profiled: (resource: Resource, by: Pick<RequestContext, 'tenant' | 'requestId'>) => Awaitable<readonly Issue[]>
  /** Which profiles a tenant's resources are checked against besides those of the server's own packages. Absent: none. */
  readonly profilesOf?: (tenant: string) => Promise<ProfilesByType>
  readonly choices: Choices
}

/** Canonicals, by the type they are about. */
export type ProfilesByType = ReadonlyMap<string, ReadonlySet<string>>

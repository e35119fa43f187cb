/** Requests, responses and ports of interactions. They are independent of HTTP and of the stores. */
import type { Access } from '../access/access.ts'
import type { ClientAuth } from '../access/claims.ts'
import type { InteractionCode } from '../catalogue/catalogue.ts'
import type { Job } from '../export/job/job.ts'
import type { BundlePage } from '../fhir/bundle.ts'
import type { MediaRange } from '../fhir/media-range.ts'
import type { Issue } from '../fhir/outcome.ts'
import type { Resource } from '../fhir/resource.ts'
import type { BlobStore } from '../ports/blobs/blob-store.ts'
import type { AddedGuides } from '../ports/definitions/package-definitions.ts'
import type { Clock } from '../ports/execution/clock.ts'
import type { ExpressionRunner } from '../ports/execution/expression-runner.ts'
import type { IndexProgress, Reindexer } from '../ports/search/index-status.ts'
import type { OutdatedParameters, Searches } from '../ports/search/search-index.ts'
import type { QueryDigest } from '../ports/security/query-digest.ts'
import type { Seal } from '../ports/security/seal.ts'
import type { CommitResult, Identifier, ResourceReader, UniquenessGuard, VersionKey, Write } from '../ports/store/resource-store.ts'
import type { ParameterPairs } from '../search/query/parameter-pairs.ts'
import type { ResponsePart } from '../search/query/response-part.ts'
import type { SearchContext } from '../search/search-context.ts'
import type { CallerAccess, VisibleStoreOf } from './visible-store.ts'

/** Preconditions of a request. Instants are in milliseconds since 1970. https://hl7.org/fhir/R4/http.html#cond-update and following */
export type Preconditions = {
  /** Succeeds only if the current version is one of these. `*`: any existing version. */
  readonly ifMatch?: readonly number[] | '*'
  /** Succeeds only if the current version is none of these. `*`: the resource must not exist. */
  readonly ifNoneMatch?: readonly number[] | '*'
  readonly ifModifiedSince?: number
  /** Search criteria in the header If-None-Exist. */
  readonly ifNoneExist?: string
}

/** The Prefer header, and X-Consistency. https://hl7.org/fhir/R4/http.html#ops, https://hl7.org/fhir/R4/search.html#errors */
export type Preferences = {
  readonly return?: 'minimal' | 'representation' | 'OperationOutcome'
  readonly handling?: 'strict' | 'lenient'
  readonly pagination?: 'offset-skip' | 'offset-page'
  readonly explain?: 'true'
  readonly 'respond-async'?: 'true'
  /** `eventual`: a search does not wait for the index, and may miss the latest writes. */
  readonly consistency?: 'eventual'
}

/** Content of a request, without its caller. Each entry of a Bundle has its own. */
export type RequestContent = {
  /** Compartment that limits a search, such as `Patient/1`. */
  readonly compartment?: string
  readonly type?: string
  readonly id?: string
  readonly versionId?: string
  /** Name of an export file, as in its link. */
  readonly file?: string
  /** Decoded parameters of the URL and, for a form, of the body, in order. */
  readonly parameters: ParameterPairs
  /** Whether parameters came in the body of a POST. Paging links must not show such parameters. */
  readonly posted: boolean
  /** Parsed body. A patch document is in `patch` instead, and its operations are not checked yet. */
  readonly resource?: Resource
  readonly patch?: unknown
  readonly preconditions: Preconditions
  readonly preferences: Preferences
  /** URL of an export request, for the manifest. */
  readonly url?: string
  /** Media types of the Accept header, if the client requests the raw content of a Binary. */
  readonly rawAccept?: readonly MediaRange[]
}

/**
 * Client, user, tenant and access of one request. `client`: its id, `open` in open mode, or empty for a request without a token. Cursors
 * are bound to tenant and client, jobs also to the user.
 */
export type Caller = {
  readonly tenant: string
  readonly client: string
  readonly access: Access
  /** Subject of the user who logged in. undefined: the client acts for itself. */
  readonly user: string | undefined
  /** Method by which the client authenticated. */
  readonly clientAuth: ClientAuth
  /** Set for a request without credentials that the setting publicRead allows. Smaller limits apply to its search. */
  readonly isPublic?: true
  /** Present for a Bundle and its entries. */
  readonly shared?: SharedResults | undefined
}

/**
 * Results that the entries of a Bundle share. `searchable`: access for the searches of a partner with a member in context. The first search
 * sets it.
 */
export type SharedResults = { searchable?: Promise<Access> }

/** Context that a Bundle shares with its entries: caller and server. `requestId`: identifies the request in logs and responses. */
export type RequestContext = Caller & {
  /** Base URL of the server, without a slash at the end. */
  readonly baseUrl: string
  /** Search context of the tenant at the time of the request. */
  readonly reading: SearchContext
  /** Tenant with definitions for all tenants; see shared-definitions.ts. Absent or empty: no shared tenant. */
  readonly sharedTenant?: string | undefined
  readonly requestId: string
}

export type FhirRequest = RequestContent & RequestContext & { readonly interaction: InteractionCode }

/** Version that a request created. `about`: its compartments and, for a Device, its patient, for the audit record. */
export type WrittenVersion = VersionKey & { readonly about: readonly string[] }

export type FhirResponse = {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /**
   * lastUpdated of the version in the response, in milliseconds since 1970. Headers have seconds only, and Bundles need the milliseconds.
   */
  readonly lastUpdated?: number
  /** A resource tree, a page of a Bundle, or bytes. Bytes are JSON of a resource unless `content-type` differs. */
  readonly body?: Resource | BundlePage | Uint8Array
  /** Part of each resource that the response shows, by `_summary` or `_elements`. Absent: the parameters of the request decide. */
  readonly part?: ResponsePart
  /** Versions that the request created, for the audit record and the index token. */
  readonly written?: readonly WrittenVersion[]
  /** Compartments of the resources in the response, for the audit record. Entries of a page have their own. */
  readonly about?: readonly string[]
  /** Names in the requests of the entries of a Bundle, for the audit record. */
  readonly named?: readonly RequestNames[]
  /**
   * Warnings about the stored resource. In a Bundle they are in `outcome` of the entry. Otherwise they replace the body if the client
   * prefers an OperationOutcome or `mustBeKnown` is true.
   */
  readonly warnings?: Warnings
  /** Export job that the request started or names, for the audit record. */
  readonly job?: ExportNames
  /** File to send instead of a body. */
  readonly file?: StoredFile
  /** Tenant and client for the audit record, if a link authorizes the request instead of a token. */
  readonly by?: Pick<Caller, 'tenant' | 'client'>
}

/**
 * Names in a request or in an entry of a Bundle, for the audit record. `key`: resource that a read names. `patients`: as `Patient/1`.
 * `queries`: lists of search parameters.
 */
export type RequestNames = { readonly key?: string; readonly patients: readonly string[]; readonly queries: readonly ParameterPairs[] }

export type ExportNames = Pick<Job, 'id' | 'level' | 'group'>

/**
 * Warnings about a stored resource. `outcome`: an OperationOutcome. `mustBeKnown`: true if it replaces the body even without a preference
 * of the client.
 */
export type Warnings = { readonly outcome: Resource; readonly mustBeKnown: boolean }

/**
 * File that is read while it is sent. `name`: suggested file name, without quotes. `written`: when it was finished, in
 * milliseconds since 1970. `tag`: identifies the content; within quotes it is a strong ETag.
 */
export type StoredFile = {
  readonly name: string
  readonly size: number
  readonly written: number
  readonly tag: string
  readonly contentType: string
  /** Yields the bytes from `from` up to, but excluding, `to`, in pieces. Throws if the file was removed meanwhile. */
  readonly read: (from: number, to: number) => AsyncIterable<Uint8Array>
}

/** A value or a promise of it. Most entries of a Bundle wait for nothing, and thousands of promises are expensive. */
export type Awaitable<T> = T | Promise<T>

export type Interaction = (request: FhirRequest) => Promise<FhirResponse>

/** Settings where the specification leaves a choice to the server. runtime/config.ts documents each. */
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
  readonly publicRead: string
}

/** Writer whose commits get further arguments. A layer that does not use them passes them on. */
export type WriterWith<More extends readonly unknown[]> = {
  readonly commit: (writes: readonly Write[], guards: readonly UniquenessGuard[], ...more: More) => Promise<CommitResult>
}

/** Writer whose commits know the request. `by`: access of its caller, and its id. */
export type RequestWriter = WriterWith<[by: CallerAccess & Pick<RequestContext, 'requestId'>]>

/** Dependencies of interactions. Each interaction selects its own with Pick. */
export type Ports = {
  readonly resources: VisibleStoreOf
  /** Current versions, unfiltered by access. Writes check the access themselves. */
  readonly heads: ResourceReader['heads']
  readonly writer: RequestWriter
  readonly index: Searches & OutdatedParameters
  /** Creates the index for the conditional searches of one write attempt. These searches share the recent writes that it reads. */
  readonly latest: () => Searches
  readonly clock: Clock
  readonly seal: Seal & QueryDigest
  readonly blobs: BlobStore
  readonly progress: IndexProgress
  readonly reindex: Reindexer
  readonly expressions: ExpressionRunner
  /** Returns the issues to report about a resource that the tenant is storing. Throws FhirError 422 if it must not be stored. */
  readonly profiled: (resource: Resource, by: Pick<RequestContext, 'tenant' | 'requestId'>) => Awaitable<readonly Issue[]>
  /**
   * Returns profiles of the tenant and of added packages, for the CapabilityStatement. Profiles of the packages of the server are not
   * included. Absent: none.
   */
  readonly profilesOf?: (tenant: string) => Promise<ProfilesByType>
  /** Returns the guides of added packages, for the CapabilityStatement. Absent: the server has no packages. */
  readonly guidesOf?: () => Promise<AddedGuides>
  readonly choices: Choices
  /** Returns the identifiers of a resource that the store keeps rows of. Absent: the store keeps none. */
  readonly identifiersOf?: (type: string, resource: Resource) => readonly Identifier[]
}

/** Canonical URLs of profiles, `url` or `url|version`, by the resource type that they constrain. */
export type ProfilesByType = ReadonlyMap<string, ReadonlySet<string>>

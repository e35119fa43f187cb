/**
 * Access of requests without credentials, by the setting publicRead. It opens directories, such as the providers and locations of a payer,
 * to the public. https://hl7.org/fhir/us/davinci-pdex-plan-net/
 */
import { patientDataTypes } from '../fhir/compartment.ts'
import { DEFAULT_TENANT } from '../ports/store/tenants.ts'
import { findTypeOverLimit, type Letter, MAX_CONDITIONS_PER_TYPE, parseScope, type ResourceScope, splitScopes } from './scopes.ts'
import { ANONYMOUS_TOKEN, type VerifiedToken } from './verification/verified-token.ts'

/** Client id of a caller without credentials. */
const PUBLIC_CLIENT = 'public'

/** Types that may hold data of a person or of the server. */
const CLOSED: ReadonlySet<string> = new Set([
  ...patientDataTypes,
  ...['Binary', 'Group', 'Consent', 'AuditEvent', 'Provenance', 'Subscription', 'Basic', 'Bundle'],
  // Types about a patient that R4 puts into no patient compartment.
  ...['BiologicallyDerivedProduct', 'Contract', 'DeviceMetric', 'EnrollmentResponse', 'GuidanceResponse', 'Linkage', 'MessageHeader'],
  ...['OperationOutcome', 'Parameters', 'PaymentNotice', 'PaymentReconciliation', 'Task'],
])

/**
 * Parses the setting publicRead. Returns its scopes. Throws a RangeError for an invalid text. Does not check the conditions,
 * because that needs all search parameters.
 */
export function parsePublicScopes(text: string): readonly ResourceScope[] {
  const scopes = splitScopes(text)
  const type = findTypeOverLimit(scopes)
  if (type !== undefined) throw new RangeError(`${type} has more than ${MAX_CONDITIONS_PER_TYPE} scopes with a condition`)
  return scopes.map(parsePublicScope)
}

function parsePublicScope(text: string): ResourceScope {
  const scope = parseScope(text)
  if (scope?.kind !== 'resource' || scope.context !== 'system' || !/\.(?:r|s|rs)(?:\?|$)/.test(text))
    throw new RangeError(
      `"${text}" is not a scope for public read. Use system/TYPE.r, system/TYPE.s or system/TYPE.rs, such as system/Location.rs`,
    )
  // guard: public-read-opens-no-personal-data
  if (scope.type === '*' || CLOSED.has(scope.type))
    throw new RangeError(`"${text}" would open ${scope.type}, which may contain personal data. Public read cannot open such a type`)
  return scope
}

/** Settings of public read. `publicReadTenant`: tenant of the public data; empty: the default tenant. */
export type PublicReadSettings = { readonly publicRead: string; readonly publicReadTenant: string }

/** Access of callers without credentials. `opens`: whether one of the scopes covers a type and a letter. */
export type PublicAccess = { readonly token: VerifiedToken; readonly opens: (type: string, letter: Letter) => boolean }

export function publicAccessOf({ publicRead, publicReadTenant }: PublicReadSettings): PublicAccess {
  const scopes = parsePublicScopes(publicRead)
  const tenant = publicReadTenant || DEFAULT_TENANT
  const who = { tenant, client: PUBLIC_CLIENT, subject: PUBLIC_CLIENT, isPublic: true } as const
  return {
    token: { ...ANONYMOUS_TOKEN, ...who, scopes: splitScopes(publicRead) },
    opens: (asked, letter) => scopes.some(({ type, letters }) => type === asked && letters.includes(letter)),
  }
}

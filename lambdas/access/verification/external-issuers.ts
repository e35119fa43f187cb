/**
 * External issuers whose tokens this server accepts. The setting is JSON:
 *
 *     [{ "issuer": "https://auth.example.org/realms/a", "audience": "https://fhir.example.org/fhir",
 *        "jwksUri": "https://auth.example.org/realms/a/protocol/openid-connect/certs",
 *        "tenants": ["a", "b"], "scopes": "patient/*.rs user/*.cruds",
 *        "claims": { "client": "azp", "tenant": "organization", "patient": "patient_id" },
 *        "assertion": ["nightly"] }]
 *
 * `tenants` (default: `default`) and `scopes` limit the access that tokens of the issuer grant. `claims` replaces default names of claims.
 * Client ids and subjects of the issuer get its name appended, as in `app@auth.example.org/realms/a`.
 *
 * `assertion` selects the clients that act for themselves and authenticate by a signed assertion, which exports require. It is a list of
 * values of the client claim, or one claim with its value: `{ "azpacr": "2" }`. It never applies to a token with `fhirUser` or `patient`.
 */
import { parseScope, splitScopes } from '../scopes.ts'
import { parseTenantClaim, type TenantClaim } from './tenant-claim.ts'

export type ExternalIssuer = {
  /** Value of `iss` in its tokens. */
  readonly issuer: string
  /** Value that `aud` of its tokens must contain. */
  readonly audience: string
  /** https URL of the issuer's JSON Web Key Set. */
  readonly jwksUri: string
  /** Tenants that its tokens may open. Tokens for other tenants are rejected. */
  readonly tenants: TenantClaim
  /** Scopes that its tokens may grant. Other scopes of a token are dropped. */
  readonly scopes: readonly string[]
  readonly names: ClaimNames
  readonly assertion: AssertionRule
}

/** Selects clients that authenticate by assertion: by values of the client claim, or by one claim of their tokens and its value. */
export type AssertionRule = { readonly clients: readonly string[] } | { readonly claim: string; readonly value: string }

/** Name of the claim for each meaning. Without `tenant` every token opens all `tenants` of the issuer. */
export type ClaimNames = {
  readonly scope: string
  readonly client: string
  readonly patient: string
  readonly fhirUser: string
  readonly tenant?: string
}

/** Default names of claims. Each is used unless the setting `claims` replaces it. */
const NAMES: ClaimNames = { scope: 'scope', client: 'client_id', patient: 'patient', fhirUser: 'fhirUser' }
const MAX_ISSUERS = 20

/**
 * Parses the setting, a JSON list. Throws RangeError with the reason. It names index and field of an invalid issuer, and the expected
 * value.
 */
export function parseIssuers(text: string): readonly ExternalIssuer[] {
  if (text === '') return []
  const list = parsed(text)
  if (!Array.isArray(list)) throw new RangeError('it must be a JSON list of issuers')
  if (list.length > MAX_ISSUERS) throw new RangeError(`there are more than ${MAX_ISSUERS} issuers`)
  const issuers = list.map(issuerOf)
  issuers.forEach(({ issuer }, i) => {
    const first = issuers.findIndex((each) => each.issuer === issuer)
    if (first < i) throw new RangeError(`[${i}].issuer is that of [${first}] again`)
  })
  return issuers
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new RangeError(`it is no JSON: ${(error as Error).message}`)
  }
}

type Written = Readonly<Record<string, unknown>>

const MEMBERS = ['issuer', 'audience', 'jwksUri', 'tenants', 'scopes', 'claims', 'assertion']

function issuerOf(each: unknown, index: number): ExternalIssuer {
  const at = `[${index}]`
  if (!isObject(each)) throw invalid(at, 'an object', each)
  const unknown = Object.keys(each).find((name) => !MEMBERS.includes(name))
  if (unknown !== undefined) throw new RangeError(`${at}.${unknown} is not a member of an issuer. Accepted: ${MEMBERS.join(', ')}`)
  const { issuer, audience, jwksUri, scopes, claims = {} } = each
  if (!isHttps(issuer)) throw invalid(`${at}.issuer`, 'an https URL, as it stands in iss', issuer)
  if (typeof audience !== 'string' || audience === '') throw invalid(`${at}.audience`, 'a text, as it stands in aud', audience)
  if (!isHttps(jwksUri)) throw invalid(`${at}.jwksUri`, 'an https URL', jwksUri)
  const names = { ...NAMES, ...namesOf(`${at}.claims`, claims) }
  return {
    ...{ issuer, audience, jwksUri, names },
    tenants: tenantsOf(`${at}.tenants`, each.tenants),
    scopes: scopesOf(`${at}.scopes`, scopes),
    assertion: assertionOf(`${at}.assertion`, each.assertion),
  }
}

function tenantsOf(at: string, tenants: unknown = 'default'): TenantClaim {
  const expected = 'a tenant, a list of tenants, or "*"; a tenant is 1 to 64 letters, digits, "_" and "-"'
  try {
    const opened = parseTenantClaim(tenants)
    if (opened !== undefined) return opened
  } catch {
    // The error below the `try` names the accepted values.
  }
  throw invalid(at, expected, tenants)
}

function scopesOf(at: string, scopes: unknown): readonly string[] {
  const list = typeof scopes === 'string' ? splitScopes(scopes) : []
  if (list.length === 0) throw invalid(at, 'a text of scopes with spaces between', scopes)
  const unknown = list.find((text) => parseScope(text) === undefined)
  if (unknown !== undefined) throw new RangeError(`${at}: ${JSON.stringify(unknown)} is no scope of this server`)
  return list
}

function assertionOf(at: string, assertion: unknown = []): AssertionRule {
  if (Array.isArray(assertion) && assertion.every((each) => typeof each === 'string' && each !== '')) return { clients: assertion }
  const [[claim, value] = [], ...others] = isObject(assertion) ? Object.entries(assertion) : []
  if (!isName(claim) || typeof value !== 'string' || value === '' || others.length > 0)
    throw invalid(at, 'a list of clients, or an object with one claim and its value', assertion)
  return { claim, value }
}

function namesOf(at: string, claims: unknown): Partial<ClaimNames> {
  if (!isObject(claims)) throw invalid(at, 'an object', claims)
  const accepted = [...Object.keys(NAMES), 'tenant']
  for (const [name, claim] of Object.entries(claims)) {
    if (!accepted.includes(name)) throw new RangeError(`${at}.${name} is not a claim that can be renamed. Accepted: ${accepted.join(', ')}`)
    if (!isName(claim)) throw invalid(`${at}.${name}`, 'the name of a claim', claim)
  }
  const names: Partial<ClaimNames> = claims
  const others = Object.entries({ ...NAMES, ...names, subject: 'sub' }).filter(([name]) => name !== 'client')
  const same = others.find(([, claim]) => claim === (names.client ?? NAMES.client))
  if (same !== undefined)
    throw new RangeError(`${at}.client must be a claim of its own, but is that of ${same[0]}: users would count as clients`)
  return names
}

function invalid(at: string, expected: string, value: unknown): RangeError {
  const text = JSON.stringify(value) ?? ''
  return new RangeError(
    value === undefined
      ? `${at} is missing: ${expected}`
      : `${at} must be ${expected}, but is ${text.length > 100 ? `${text.slice(0, 100)}…` : text}`,
  )
}

const isObject = (value: unknown): value is Written => typeof value === 'object' && value !== null && !Array.isArray(value)

const isHttps = (value: unknown): value is string =>
  typeof value === 'string' && /^https:\/\/[!#-[\]-~]+$/.test(value) && URL.canParse(value)

const isName = (value: unknown): value is string => typeof value === 'string' && /^[\w:./-]{1,100}$/.test(value)

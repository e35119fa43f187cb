/**
 * Issuers besides this server whose tokens are accepted, as a person writes them down:
 *
 *     [{ "issuer": "https://auth.example.org/realms/a", "audience": "https://fhir.example.org/fhir",
 *        "jwksUri": "https://auth.example.org/realms/a/protocol/openid-connect/certs",
 *        "tenants": ["a", "b"], "scopes": "patient/*.rs user/*.cruds",
 *        "claims": { "client": "azp", "tenant": "organization", "patient": "patient_id" } }]
 *
 * `tenants` (`default`) and `scopes` bound what a token of that issuer may open and give; `claims` says which of its claims mean what, where they
 * have other names. Its clients and users are known as `app@auth.example.org/realms/a`.
 */
import { parseScope, scopeTexts } from '../scopes.ts'
import { type TenantClaim, tenantClaim } from './tenant-claim.ts'

export type ExternalIssuer = {
  /** As it stands in `iss`. */
  readonly issuer: string
  /** What must stand in `aud`. */
  readonly audience: string
  /** https: where its keys are. */
  readonly jwksUri: string
  /** Its tokens open no others. */
  readonly tenants: TenantClaim
  /** And give no others. */
  readonly scopes: readonly string[]
  readonly names: ClaimNames
}

/** Which claims say what. `tenant` absent: every token opens all of `tenants`. */
export type ClaimNames = {
  readonly scope: string
  readonly client: string
  readonly patient: string
  readonly fhirUser: string
  readonly tenant?: string
}

/** What stays open is closed here: no token of this issuer is without one of these. */
const NAMES: ClaimNames = { scope: 'scope', client: 'client_id', patient: 'patient', fhirUser: 'fhirUser' }
const MOST = 20

/** JSON: a list. undefined where it is not what it should be. */
export function parseIssuers(text: string): readonly ExternalIssuer[] | undefined {
  if (text === '') return []
  try {
    const list = JSON.parse(text) as unknown
    if (!Array.isArray(list) || list.length > MOST) return undefined
    const issuers = list.map(issuerOf)
    return new Set(issuers.map(({ issuer }) => issuer)).size === issuers.length ? issuers : undefined
  } catch {
    return undefined
  }
}

type Written = Readonly<Record<string, unknown>>

const KNOWN = ['issuer', 'audience', 'jwksUri', 'tenants', 'scopes', 'claims']

function issuerOf(written: Written): ExternalIssuer {
  const { issuer, audience, jwksUri, tenants = 'default', scopes, claims = {} } = written
  check(Object.keys(written).every((name) => KNOWN.includes(name)))
  check(isHttps(issuer) && isHttps(jwksUri) && typeof audience === 'string' && audience !== '' && typeof scopes === 'string')
  const opened = tenantClaim(tenants)
  const given = scopeTexts(scopes as string)
  check(opened !== undefined && given.length > 0 && given.every((text) => parseScope(text) !== undefined))
  const names = claims as Readonly<Record<string, unknown>>
  check(Object.entries(names).every(([name, claim]) => (Object.hasOwn(NAMES, name) || name === 'tenant') && isName(claim)))
  return {
    issuer: issuer as string,
    audience: audience as string,
    jwksUri: jwksUri as string,
    tenants: opened,
    scopes: given,
    names: { ...NAMES, ...(names as Partial<ClaimNames>) },
  }
}

function check(holds: boolean): void {
  if (!holds) throw new RangeError('not an issuer')
}

const isHttps = (value: unknown): boolean => typeof value === 'string' && /^https:\/\/[!#-[\]-~]+$/.test(value) && URL.canParse(value)

const isName = (value: unknown): boolean => typeof value === 'string' && /^[\w:./-]{1,100}$/.test(value)

/** Tenants that a token opens, and the selection of one tenant for a request. */
import { FhirError, fhirError } from '../../fhir/outcome.ts'
import { DEFAULT_TENANT } from '../../ports/store/tenants.ts'
import { isTenantBoundUser } from '../user-patients.ts'
import { invalidTokenError } from './token-errors.ts'
import type { VerifiedToken } from './verified-token.ts'

/** Tenants that a token opens: one, several to select from, any (`*`), or none (undefined). */
export type TenantClaim = string | readonly string[] | undefined

/** Whether the value can be the name of a tenant. */
export const isTenant = (value: unknown): value is string => typeof value === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(value)

/** Parses a tenant claim: a name, a list of names, or `*`. Throws FhirError 401 if a value cannot be the name of a tenant. */
export function parseTenantClaim(value: unknown): TenantClaim {
  if (value === undefined || value === '*' || isTenant(value)) return value
  if (!Array.isArray(value) || !value.every((each) => each === '*' || isTenant(each))) throw invalidTokenError('The token names no tenant')
  return value.includes('*') ? '*' : claimOf(value)
}

/** Returns the claim for a list of names: one name as a string, and an empty list as undefined. */
function claimOf(names: readonly string[]): TenantClaim {
  const different = [...new Set(names)]
  return different.length > 1 ? different : different[0]
}

/**
 * Returns the tenants of the claim that are also in `allowed`, the tenants of its issuer. Throws FhirError 401 if none is left of a claim
 * that names tenants.
 */
export function narrowTenantClaim(claim: TenantClaim, allowed: TenantClaim): TenantClaim {
  if (claim === undefined || allowed === '*') return claim
  if (claim === '*') return allowed
  const within = [claim].flat().filter((tenant) => [allowed].flat().includes(tenant))
  if (within.length === 0) throw invalidTokenError('The token names no tenant that its issuer may open')
  return claimOf(within)
}

const isSeveral = (claim: TenantClaim): boolean => claim === '*' || Array.isArray(claim)

/**
 * Throws FhirError 403 if a token about a patient or related person opens several tenants: the same id identifies a different person in
 * each tenant.
 */
export function checkPersonTenant(
  { patient, fhirUser, actsFor }: Pick<VerifiedToken, 'patient' | 'fhirUser' | 'actsFor'>,
  claim: TenantClaim,
): void {
  if (!isSeveral(claim)) return
  if (patient !== undefined || actsFor !== undefined || isTenantBoundUser(fhirUser))
    throw fhirError(
      403,
      'forbidden',
      'The token is about a patient and opens several tenants, but a patient id names another person in each tenant',
    )
}

/** Explanation at the end of error messages about other tenants than `default`, while tenancy is off. */
export const TENANCY_OFF_TEXT = `this server keeps no tenants but "${DEFAULT_TENANT}" (FHIR_TENANCY is off)`

/**
 * Returns `default`, the only tenant of a server without tenancy. `header`: X-Tenant-Id. Throws FhirError 400 if the header names another
 * tenant, and 403 if the token does not open `default`.
 */
export function checkDefaultTenant(claim: TenantClaim, header: string | undefined): string {
  if (header !== undefined && header !== DEFAULT_TENANT)
    throw fhirError(400, 'value', `X-Tenant-Id names another tenant: ${TENANCY_OFF_TEXT}`)
  if (claim !== '*' && ![claim].flat().includes(DEFAULT_TENANT))
    throw fhirError(403, 'forbidden', `The token opens other tenants: ${TENANCY_OFF_TEXT}`)
  return DEFAULT_TENANT
}

/** Error 400: the token opens several tenants, and the request does not select one of them. */
export class TenantNotSelected extends FhirError {
  readonly tenants: readonly string[] | '*'

  constructor(tenants: readonly string[] | '*') {
    super(400, [{ severity: 'error', code: 'required', text: 'The token opens several tenants: choose one with X-Tenant-Id' }])
    this.tenants = tenants
  }
}

/**
 * Returns the tenant of a request. `header`: X-Tenant-Id; it may be absent if the token opens one tenant, and TenantNotSelected is thrown
 * if it opens several. Throws FhirError 400 if the header cannot be the name of a tenant, and 403 if the token does not open that tenant.
 */
export function selectTenant(claim: TenantClaim, header: string | undefined): string {
  if (claim === undefined) throw fhirError(403, 'forbidden', 'The token opens no tenant')
  if (header !== undefined && !isTenant(header)) throw fhirError(400, 'value', 'X-Tenant-Id is the name of one tenant')
  if (header === undefined && isSeveral(claim)) throw new TenantNotSelected(claim === '*' ? claim : [claim].flat())
  const tenant = header ?? (claim as string)
  // guard: tenant-claim-matches-request
  if (claim !== '*' && ![claim].flat().includes(tenant)) throw fhirError(403, 'forbidden', 'The token does not open this tenant')
  return tenant
}

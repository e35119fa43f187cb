/**
 * Authorization requests, which a client sends through the user's browser.
 * https://hl7.org/fhir/smart-app-launch/app-launch.html#obtain-authorization-code
 */
import { narrowScopes } from '../../access/scopes.ts'
import type { Client } from '../../ports/rows/clients.ts'
import type { ParameterPairs } from '../../search/query/parameter-pairs.ts'
import type { AuthPorts, AuthRequest } from '../endpoint.ts'
import { OAuthError, type OAuthErrorCode } from '../oauth-error.ts'
import { isRegisteredRedirectUri } from '../redirect-uri.ts'
import { parametersOf, type RequestParameters, requireParameter, toDescriptionList } from '../request-parameters.ts'
import { filterServedTenants, TENANCY_OFF_TEXT } from '../tenant-intersection.ts'
import { findUngrantedScopes, parseRequestedScopes } from './granted-scopes.ts'
import { challengeOf, refuseEmptyPkce } from './pkce.ts'

/**
 * Verified client of a request and its redirect URI. Both are verified before everything else, because all other errors are sent to the
 * redirect URI.
 */
export type RequestingClient = { readonly client: Client; readonly redirectUri: string; readonly state?: string }

export type AuthorizationRequest = RequestingClient & {
  readonly scopes: readonly string[]
  readonly challenge?: string
  readonly nonce?: string
  readonly launch?: string
  /** Requested prompts, from the parameter `prompt`: `none`, `login`, `consent`, `select_account`. */
  readonly prompt: readonly string[]
  /** Maximum seconds since the login. After an older login the user must log in again. */
  readonly maxAge?: number
  readonly loginHint?: string
  /** Patient that the user chose, as `1` or, with tenancy, `tenant/1`. */
  readonly patient?: string
}

/** Parameter with the chosen patient, which the patient picker adds to the request. */
export const CHOSEN_PATIENT_PARAMETER = 'chosen_patient'
/** Parameter with the words by which the patient picker searches. */
export const PATIENT_SEARCH_PARAMETER = 'find_patient'

/**
 * Creates an error whose page shows the received value, which anyone may have written. Spaces and characters outside ASCII are escaped: the
 * value can then not form a sentence, or look like another value.
 */
function toUser(code: OAuthErrorCode, why: string, name: string, sent: string | undefined): OAuthError {
  const text = [...(sent ?? '').slice(0, 300)].map((each) => (/[!-~]/.test(each) ? each : `\\u{${each.codePointAt(0)!.toString(16)}}`))
  return new OAuthError(
    code,
    sent === undefined ? `${why}: ${name} is missing, or there are several.` : `${why}: ${name} is ${text.join('')}`,
  )
}

/**
 * Returns the verified client and redirect URI. Throws OAuthError, which must be shown to the user and never sent to the unverified
 * redirect URI.
 */
export async function findRequestingClient(
  { clients }: Pick<AuthPorts, 'clients'>,
  pairs: ParameterPairs,
  { note }: AuthRequest,
): Promise<RequestingClient> {
  const once = (name: string): string | undefined => {
    const values = pairs.filter(([each]) => each === name)
    return values.length === 1 ? values[0]![1] : undefined
  }
  const id = once('client_id')
  const client = await clients.get(id ?? '')
  if (client === undefined) throw toUser('invalid_client', 'The app that sent you here is not known to this server', 'client_id', id)
  note({ client: client.id })
  const redirectUri = once('redirect_uri')
  if (redirectUri === undefined || !isRegisteredRedirectUri(redirectUri, client.redirectUris)) {
    const why = `${client.name} (client_id ${client.id}) wants to go on at an address that it is not registered with`
    throw toUser('invalid_request', why, 'redirect_uri', redirectUri)
  }
  const state = once('state')
  if (state !== undefined && isTooLong(state))
    throw new OAuthError(
      'invalid_request',
      `${client.name} (client_id ${client.id}) sent more than its answer has room for: ${tooLong('state')}`,
    )
  return { client, redirectUri, ...(state === undefined ? {} : { state }) }
}

/** Parses the request of a verified client. Throws OAuthError, which the endpoint sends to the redirect URI. */
export function authorizationRequestOf(
  asker: RequestingClient,
  pairs: ParameterPairs,
  { baseUrl }: AuthRequest,
  { choices }: Pick<AuthPorts, 'choices'>,
): AuthorizationRequest {
  const parameters = parametersOf(pairs)
  checkKind(parameters)
  checkLengths(parameters)
  if (filterServedTenants(choices, asker.client.tenants).length === 0)
    throw new OAuthError('unauthorized_client', `The client is of other tenants: ${TENANCY_OFF_TEXT}`)
  const aud = requireParameter(parameters, 'aud')
  // guard: authorization-audience
  if (aud !== baseUrl && aud !== `${baseUrl}/`) throw new OAuthError('invalid_request', 'aud is another than the base URL of this server')
  const scopes = parseRequestedScopes(parameters.get('scope') ?? '')
  if (scopes.length === 0) throw new OAuthError('invalid_scope', 'scope is missing')
  const lost = findUngrantedScopes(scopes, narrowScopes(scopes, asker.client.scopes))
  if (lost.length > 0) throw new OAuthError('invalid_scope', `The client is registered for none of: ${toDescriptionList(lost)}`)
  const prompt = (parameters.get('prompt') ?? '').split(' ').filter((each) => each !== '')
  if (prompt.includes('none') && prompt.length > 1) throw new OAuthError('invalid_request', 'prompt is none and something else')
  refuseEmptyPkce(pairs, choices)
  const challenge = challengeOf(parameters, choices)
  const named = { nonce: 'nonce', launch: 'launch', loginHint: 'login_hint', patient: CHOSEN_PATIENT_PARAMETER } as const
  const given = Object.entries(named).flatMap(([name, parameter]) =>
    parameters.has(parameter) ? [[name, parameters.get(parameter)!] as const] : [],
  )
  return {
    ...asker,
    scopes,
    prompt,
    ...maxAgeOf(parameters),
    ...(challenge === undefined ? {} : { challenge }),
    ...Object.fromEntries(given),
  }
}

function checkKind(parameters: RequestParameters): void {
  if (parameters.has('request')) throw new OAuthError('request_not_supported', 'Requests as JWTs are not taken')
  if (parameters.has('request_uri')) throw new OAuthError('request_uri_not_supported', 'Requests by reference are not taken')
  if (requireParameter(parameters, 'response_type') !== 'code')
    throw new OAuthError('unsupported_response_type', 'response_type must be code')
  if ((parameters.get('response_mode') ?? 'query') !== 'query') throw new OAuthError('invalid_request', 'response_mode must be query')
}

/**
 * Maximum characters of `state` and of `nonce`. Longer values are rejected. Responses repeat `state` in a URL, and CloudFront limits a URL
 * to 8,192 bytes.
 */
const LONGEST = 2_000
/** Maximum characters of `state` and of `nonce`, URL-encoded. Longer values are rejected. */
const LONGEST_IN_URL = 4_000

const isTooLong = (text: string): boolean => text.length > LONGEST || `${new URLSearchParams([['', text]])}`.length > LONGEST_IN_URL

const tooLong = (name: string): string => `${name} is longer than ${LONGEST} characters, or ${LONGEST_IN_URL} in a URL`

function checkLengths(parameters: RequestParameters): void {
  if (isTooLong(parameters.get('nonce') ?? '')) throw new OAuthError('invalid_request', tooLong('nonce'))
}

function maxAgeOf(parameters: RequestParameters): Pick<AuthorizationRequest, 'maxAge'> {
  const text = parameters.get('max_age')
  if (text === undefined) return {}
  if (!/^\d{1,9}$/.test(text)) throw new OAuthError('invalid_request', 'max_age is a number of seconds')
  return { maxAge: Number(text) }
}

/** Returns the query of the same request without the parameters named in `without`, and with those in `added`. */
export const queryOf = (pairs: ParameterPairs, without: readonly string[], added: ParameterPairs = []): string =>
  new URLSearchParams(
    [...pairs.filter(([name]) => !without.includes(name)), ...added].map(([name, value]) => [name, value] as [string, string]),
  ).toString()

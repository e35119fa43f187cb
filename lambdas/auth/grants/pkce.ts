/** PKCE: proof that the client that exchanges a code is the client that requested it. https://www.rfc-editor.org/rfc/rfc7636 */
import { timingSafeEqual } from 'node:crypto'
import type { ParameterPairs } from '../../search/query/parameter-pairs.ts'
import type { AuthChoices } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { fingerprintOf } from '../random-secret.ts'
import type { RequestParameters } from '../request-parameters.ts'

/**
 * Throws OAuthError `invalid_request` if a PKCE parameter is empty. An empty parameter counts as absent, so a client that lost its value
 * would be served without PKCE.
 */
export function refuseEmptyPkce(pairs: ParameterPairs, { pkce }: Pick<AuthChoices, 'pkce'>): void {
  if (pkce === 'off') return
  const empty = pairs.find(([name, value]) => value === '' && /^code_(?:challenge|challenge_method|verifier)$/.test(name))
  if (empty !== undefined) throw new OAuthError('invalid_request', `The parameter ${empty[0]} is empty: send a value or leave it out`)
}

/**
 * Returns the challenge of an authorization request, or undefined if there is none or PKCE is off. Throws OAuthError `invalid_request` if
 * the challenge is missing although required, is not a SHA-256, or has another method.
 */
export function challengeOf(parameters: RequestParameters, { pkce }: Pick<AuthChoices, 'pkce'>): string | undefined {
  if (pkce === 'off') return undefined
  const challenge = parameters.get('code_challenge')
  const method = parameters.get('code_challenge_method')
  if (challenge === undefined && method === undefined) {
    if (pkce === 'require') throw new OAuthError('invalid_request', 'code_challenge is missing')
    return undefined
  }
  // guard: pkce-s256-only
  if (method !== 'S256') throw new OAuthError('invalid_request', 'code_challenge_method must be S256')
  if (challenge === undefined || !/^[\w-]{43}$/.test(challenge)) throw new OAuthError('invalid_request', 'code_challenge is no SHA-256')
  return challenge
}

/**
 * Throws OAuthError `invalid_grant` if the verifier does not match the challenge, or only one of the two exists. Checks nothing if PKCE is
 * off.
 */
export function checkVerifier(parameters: RequestParameters, challenge: string | undefined, { pkce }: Pick<AuthChoices, 'pkce'>): void {
  const verifier = parameters.get('code_verifier')
  if (pkce === 'off' || (verifier === undefined && challenge === undefined)) return
  if (verifier === undefined) throw wrongVerifier('is missing: the authorization request had a code_challenge')
  if (challenge === undefined) throw wrongVerifier('was sent, but the authorization request had no code_challenge')
  if (!/^[\w.~-]{43,128}$/.test(verifier)) throw wrongVerifier('has 43 to 128 characters: letters, digits and -._~')
  if (!timingSafeEqual(Buffer.from(fingerprintOf(verifier)), Buffer.from(challenge))) throw wrongVerifier('does not fit the code_challenge')
}

const wrongVerifier = (why: string): OAuthError => new OAuthError('invalid_grant', `code_verifier ${why}`)

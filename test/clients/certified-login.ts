/** Login of an app with the certified library openid-client, for clients without a login. https://github.com/panva/openid-client */
import * as openid from 'openid-client'
import { APP, type MemberServer } from './member-server.ts'

/** Returns a refreshed access token, and the id of the patient in context. */
export async function logInCertified(base: string, signIn: MemberServer['signIn']): Promise<readonly [token: string, patient: string]> {
  const config = await openid.discovery(new URL(base), APP.id, undefined, openid.None(), { execute: [openid.allowInsecureRequests] })
  const [verifier, state, nonce] = [openid.randomPKCECodeVerifier(), openid.randomState(), openid.randomNonce()]
  const url = openid.buildAuthorizationUrl(config, {
    ...{ redirect_uri: APP.redirectUri, scope: APP.scope, aud: base, state, nonce },
    ...{ code_challenge: await openid.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
  })
  const tokens = await openid.authorizationCodeGrant(config, new URL(await signIn(url.href)), {
    ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true },
  })
  const { access_token } = await openid.refreshTokenGrant(config, tokens.refresh_token!)
  return [access_token, String(tokens.patient)]
}

/**
 * What CloudFront runs before it hands out an export file. The link is the proof; who sends an access token besides must be who it was given
 * to. The token is not verified here: without it the link would open the file as well.
 */
import { outcomeText } from './gateway-errors.ts'
import { REFUSED } from './viewer-answer.ts'

/** `issuer` of other issuers: the claim that says who a client of its is, which is then known as `app@auth.example.org`. */
export type ClientClaims = Readonly<Record<string, string>>

/** In CloudFront's JavaScript. https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/functions-javascript-runtime-20.html */
export const exportViewer = (others: ClientClaims): string =>
  `
${REFUSED}var others = ${JSON.stringify(others)}
function clientOf(token) {
  try {
    var claims = JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString())
    var claim = others[claims.iss]
    return claim ? claims[claim] + '@' + claims.iss.replace('https://', '') : claims.client_id
  } catch (error) {
    return undefined
  }
}
function decoded(text) {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    return text
  }
}
function handler(event) {
  var request = event.request
  var authorization = request.headers.authorization
  var bearer = authorization && /^bearer +(\\S+) *$/i.exec(authorization.value)
  if (!bearer) return request
  var client = request.querystring.client
  var isOne = client && (!client.multiValue || client.multiValue.length === 1)
  if (isOne && decoded(client.value) === clientOf(bearer[1])) return request
  return refused(403, '${outcomeText('forbidden', 'The link was given to another client')}')
}
`.trim()

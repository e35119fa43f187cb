/** What the functions CloudFront runs at its edges have in common. In CloudFront's JavaScript. */

/** `refused(status, outcome)`: an answer instead of the request. */
export const REFUSED_FUNCTION_CODE = `\
function refused(status, outcome) {
  return {
    statusCode: status,
    headers: { 'content-type': { value: 'application/fhir+json; charset=utf-8' }, 'cache-control': { value: 'no-store' } },
    body: { encoding: 'text', data: outcome }
  }
}
`

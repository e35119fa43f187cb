/** Contract between API Gateway and the functions. lib sets it, the functions rely on it. */

/**
 * Media types that API Gateway passes as bytes. It passes every other body as text, which changes bytes that are not UTF-8.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-payload-encodings-workflow.html
 * The list names what Binaries usually hold and no more: base64 makes these bodies a third longer on their way.
 */
export const BINARY_TYPES: readonly string[] = [
  'image/*',
  'audio/*',
  'video/*',
  'application/pdf',
  'application/octet-stream',
  'application/zip',
  'application/dicom',
]

/** True if API Gateway sends the response to this Accept header as bytes: its first media type decides. */
export function isSentAsBytes(accept = ''): boolean {
  const first = accept.split(/[,;]/, 1)[0]!.trim().toLowerCase()
  return BINARY_TYPES.includes(first) || BINARY_TYPES.includes(first.replace(/\/.*/, '/*'))
}

/** Header in which CloudFront sends the address of the client: it overwrites what a client sends in it. */
export const CLIENT_ADDRESS_HEADER = 'true-client-ip'

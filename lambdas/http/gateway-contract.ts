/** Contract between API Gateway and the functions. lib configures it, and the functions rely on it. */

/**
 * Media types that API Gateway passes as bytes. It passes every other body as text, which changes bytes that are not UTF-8.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-payload-encodings-workflow.html
 * The list holds only the usual content of Binaries, because base64 makes these bodies a third longer.
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

/** Whether API Gateway sends the response as bytes: the first media type in the Accept header is in BINARY_TYPES. */
export function isSentAsBytes(accept = ''): boolean {
  const first = accept.split(/[,;]/, 1)[0]!.trim().toLowerCase()
  return BINARY_TYPES.includes(first) || BINARY_TYPES.includes(first.replace(/\/.*/, '/*'))
}

/** Header in which CloudFront sends the client address. CloudFront overwrites a value that the client sends, so it can be trusted. */
export const CLIENT_ADDRESS_HEADER = 'true-client-ip'

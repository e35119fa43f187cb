/** The library that verifies signatures, where a bundle loads it from a file of its own: where nobody has a token it is never read. */

export { JwtInvalidAudienceError, JwtInvalidSignatureError } from 'aws-jwt-verify/error'
export { JwtVerifier } from 'aws-jwt-verify/jwt-verifier'

/**
 * Library that verifies signatures. Bundles of functions load this file with the first token, so that stages without tokens never load it.
 */

export { JwtInvalidAudienceError, JwtInvalidSignatureError } from 'aws-jwt-verify/error'
export { JwtVerifier } from 'aws-jwt-verify/jwt-verifier'

/** Key prefix under which Lambda stores stream records that a function could not process. Lambda defines this prefix. */
export const FAILED_RECORDS_PREFIX = 'aws/lambda/'

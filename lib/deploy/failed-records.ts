/** Below it, in the bucket, Lambda writes records that no function took: its own name for it. */
export const FAILED_RECORDS_PREFIX = 'aws/lambda/'

/** Behaviours of the CDK's library that are off unless they are asked for. https://docs.aws.amazon.com/cdk/v2/guide/featureflags.html */
export const FLAGS = {
  '@aws-cdk/aws-s3:createDefaultLoggingPolicy': true,
  '@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy': true,
  '@aws-cdk/core:enablePartitionLiterals': true,
  '@aws-cdk/core:validateAgainstDefaultRules': true,
}

/** Behaviors of the CDK library that must be enabled explicitly. https://docs.aws.amazon.com/cdk/v2/guide/featureflags.html */
export const FEATURE_FLAGS = {
  '@aws-cdk/aws-s3:createDefaultLoggingPolicy': true,
  '@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy': true,
  '@aws-cdk/core:defaultCrossStackReferences': 'strong',
  '@aws-cdk/core:enablePartitionLiterals': true,
  '@aws-cdk/core:validateAgainstDefaultRules': true,
}

#!/bin/sh
# Runs a class of Kafka; under the name of one of its tools, the class of that tool.
case "${0##*/}" in
  kafka-topics.sh) set -- org.apache.kafka.tools.TopicCommand "$@" ;;
  kafka-console-producer.sh) set -- kafka.tools.ConsoleProducer "$@" ;;
  kafka-console-consumer.sh) set -- org.apache.kafka.tools.consumer.ConsoleConsumer "$@" ;;
esac
# shellcheck disable=SC2086 # several options are meant
exec /opt/java/bin/java ${KAFKA_HEAP_OPTS:-} -cp '/opt/kafka/libs/*' "$@"

# The orchestrator as an image: one static program, no shell, no root.
#   docker build -t orchestra:0.1.0 .
FROM rust:1.95-alpine AS build
RUN apk add --no-cache build-base
WORKDIR /src
COPY . .
# A static program needs no system below it. What runs programs of a machine is of no use in a cluster.
RUN cargo build --release --locked -p orchestra --no-default-features --features kubernetes,template \
    && cp target/release/orchestra /orchestra

FROM scratch
COPY --from=build /orchestra /orchestra
USER 65532:65532
EXPOSE 8443
ENTRYPOINT ["/orchestra"]
CMD ["serve", "--cluster"]

